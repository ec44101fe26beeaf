// Structures: made, interned, compared and hashed.
#include <vector>

#include "keys.h"
#include "tree.h"

namespace morphax::tree {

namespace {

constexpr Py_ssize_t kMostKnown = 4096;

nb::object integer(Py_ssize_t value) { return checked(PyLong_FromSsize_t(value)); }

nb::object new_treedef(PyObject* node, nb::object children) {
  Py_ssize_t leaves = 0, nodes = 1;
  bool flat = true, shared = core.canonical(node) == Py_True;
  for (Py_ssize_t i = 0; i < length(children.ptr()); ++i) {
    PyObject* child = item(children.ptr(), i);
    if (child == core.leaf) {
      ++leaves;
      ++nodes;
      continue;
    }
    leaves += leaf_count(child);
    nodes += PyLong_AsSsize_t(core.num_nodes(child));
    flat = false;
    shared = shared && core.shared(child) == Py_True;
  }
  nb::object treedef = new_instance(core.treedef);
  core.root.fill(treedef.ptr(), nb::borrow(node));
  core.children.fill(treedef.ptr(), std::move(children));
  core.num_leaves.fill(treedef.ptr(), integer(leaves));
  core.num_nodes.fill(treedef.ptr(), integer(nodes));
  core.flat.fill(treedef.ptr(), boolean(flat));
  core.shared.fill(treedef.ptr(), boolean(shared));
  core.hash.fill(treedef.ptr(), nb::none());
  core.program.fill(treedef.ptr(), nb::none());
  return treedef;
}

PyObject* known_at(PyObject* node, PyObject* key) {
  PyObject* found = PyDict_GetItemWithError(core.known(node), key);
  if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
  return found;
}

// Keeps a structure, if all its nodes are canonical, with its node.
nb::object remember(PyObject* node, PyObject* key, nb::object treedef) {
  if (core.shared(treedef) != Py_True) return treedef;
  PyObject* known = core.known(node);
  if (PyDict_GET_SIZE(known) >= kMostKnown) PyDict_Clear(known);
  PyObject* kept = PyDict_SetDefault(known, key, treedef.ptr());
  if (kept == nullptr) throw nb::python_error();
  return nb::borrow(kept);
}

}  // namespace

nb::object flat_treedef(PyObject* node, std::size_t arity) {
  nb::object key = checked(PyLong_FromSize_t(arity));
  if (PyObject* found = known_at(node, key.ptr())) return nb::borrow(found);
  const std::vector<PyObject*> children(arity, core.leaf);
  nb::object treedef = new_treedef(node, tuple_of(children.data(), arity));
  return remember(node, key.ptr(), std::move(treedef));
}

nb::object treedef_of(PyObject* node, PyObject* const* children, std::size_t count) {
  std::size_t leaves = 0;
  while (leaves < count && children[leaves] == core.leaf) ++leaves;
  if (leaves == count) return flat_treedef(node, count);
  if (core.canonical(node) != Py_True) return new_treedef(node, tuple_of(children, count));
  // The structure keeps its children alive, and with them the addresses in the key.
  nb::object key = checked(PyBytes_FromStringAndSize(
      reinterpret_cast<const char*>(children), static_cast<Py_ssize_t>(count * sizeof(PyObject*))));
  if (PyObject* found = known_at(node, key.ptr())) return nb::borrow(found);
  return remember(node, key.ptr(), new_treedef(node, tuple_of(children, count)));
}

bool same_node(PyObject* left, PyObject* right) {
  if (left == right) return true;
  if (core.kind(left) != core.kind(right)) return false;
  const nb::object a = nb::borrow(core.data(left)), b = nb::borrow(core.data(right));
  if (a.is(b)) return true;
  // On failure Python compares once more and explains.
  nb::object answer = nb::steal(PyObject_RichCompare(a.ptr(), b.ptr(), Py_EQ));
  const int truth = answer.is_valid() ? PyObject_IsTrue(answer.ptr()) : -1;
  if (truth >= 0) return truth != 0;
  PyErr_Clear();
  return call(core.same_data, a, b).is(nb::handle(Py_True));
}

namespace {

PyObject* data_key = nullptr;  // see `install_data_key`

constexpr int kDeepest = 64;

bool same_values(PyObject* a, PyObject* b, int depth);

// Of data that are dictionaries made anew at each call: what `data_key` of them would say.
bool same_entries(PyObject* a, PyObject* b, int depth) {
  if (PyDict_GET_SIZE(a) != PyDict_GET_SIZE(b)) return false;
  PyObject *name, *value, *other_name, *other;
  Py_ssize_t here = 0, there = 0;
  while (PyDict_Next(a, &here, &name, &value)) {
    if (!PyDict_Next(b, &there, &other_name, &other)) return false;
    // To compare may run code that changes the dictionaries.
    const nb::object held[] = {nb::borrow(name), nb::borrow(value), nb::borrow(other_name),
                               nb::borrow(other)};
    if (!same_values(held[0].ptr(), held[2].ptr(), depth)) return false;
    if (!same_values(held[1].ptr(), held[3].ptr(), depth)) return false;
  }
  return true;
}

bool same_values(PyObject* a, PyObject* b, int depth) {
  if (a == b) return true;
  if (depth < kDeepest && PyDict_CheckExact(a) && PyDict_CheckExact(b)) {
    return same_entries(a, b, depth + 1);
  }
  nb::object key = keys::key_of(a), other = keys::key_of(b);
  if (!key.is_valid() || !other.is_valid()) {
    key = call(data_key, nb::borrow(a));
    other = call(data_key, nb::borrow(b));
  }
  const int equal = PyObject_RichCompareBool(key.ptr(), other.ptr(), Py_EQ);
  check_status(equal);
  return equal != 0;
}

bool same_data(PyObject* left, PyObject* right) {
  const nb::object a = nb::borrow(core.data(left)), b = nb::borrow(core.data(right));
  return same_values(a.ptr(), b.ptr(), 0);
}

// Whether two structures have the same form, and `same_nodes` holds for each two of their nodes.
template <typename SameNodes>
bool agree(PyObject* left, PyObject* right, SameNodes same_nodes) {
  if (leaf_count(left) != leaf_count(right)) return false;
  std::vector<std::pair<PyObject*, PyObject*>> stack{{left, right}};
  while (!stack.empty()) {
    const auto [a, b] = stack.back();
    stack.pop_back();
    if (a == b) continue;
    if (a == core.leaf || b == core.leaf) return false;
    PyObject *below_a = core.children(a), *below_b = core.children(b);
    if (length(below_a) != length(below_b)) return false;
    if (!same_nodes(core.root(a), core.root(b))) return false;
    for (Py_ssize_t i = length(below_a); i-- > 0;) {
      stack.emplace_back(item(below_a, i), item(below_b, i));
    }
  }
  return true;
}

}  // namespace

bool equal(PyObject* left, PyObject* right) { return agree(left, right, same_node); }

bool same(PyObject* left, PyObject* right) {
  return agree(left, right, [](PyObject* a, PyObject* b) {
    return same_node(a, b) && (a == b || same_data(a, b));
  });
}

void install_data_key(nb::handle function) { data_key = kept(function); }

namespace {

constexpr std::size_t kMultiplier = 0x9e3779b97f4a7c15u;

// The hash of a structure whose children know theirs.  Data of registered classes do not enter:
// they need not be hashable.
Py_hash_t hash_from_children(PyObject* treedef) {
  PyObject* node = core.root(treedef);
  if (treedef == core.leaf) return 1;
  PyObject* kind = core.kind(node);
  std::size_t code = reinterpret_cast<std::size_t>(kind) >> 4;
  if (form_of(kind) == Form::kDict) {
    const Py_hash_t keys = PyObject_Hash(core.data(node));
    if (keys == -1) throw nb::python_error();
    code ^= static_cast<std::size_t>(keys);
  }
  PyObject* children = core.children(treedef);
  for (Py_ssize_t i = 0; i < length(children); ++i) {
    const Py_hash_t child = PyLong_AsSsize_t(core.hash(item(children, i)));
    code = (code ^ static_cast<std::size_t>(child)) * kMultiplier;
    code ^= code >> 29;
  }
  const auto result = static_cast<Py_hash_t>(code);
  return result == -1 ? -2 : result;
}

bool knows_hash(PyObject* treedef) { return core.hash(treedef) != Py_None; }

}  // namespace

Py_hash_t hash(PyObject* treedef) {
  std::vector<PyObject*> stack;
  if (!knows_hash(treedef)) stack.push_back(treedef);
  while (!stack.empty()) {
    PyObject* here = stack.back();
    PyObject* children = core.children(here);
    const std::size_t before = stack.size();
    for (Py_ssize_t i = 0; i < length(children); ++i) {
      if (!knows_hash(item(children, i))) stack.push_back(item(children, i));
    }
    if (stack.size() > before) continue;
    stack.pop_back();
    if (!knows_hash(here)) core.hash.fill(here, integer(hash_from_children(here)));
  }
  return PyLong_AsSsize_t(core.hash(treedef));
}

}  // namespace morphax::tree
