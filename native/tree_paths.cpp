// Flattening with key paths.
#include <vector>

#include "tree.h"

namespace morphax::tree {

namespace {

struct Open {
  Expansion parts;
  nb::object keys;  // a tuple or list
  nb::object path;
  Py_ssize_t done;
  std::size_t first_child;
};

nb::object extended(PyObject* path, PyObject* key) {
  const Py_ssize_t count = length(path);
  nb::object longer = checked(PyTuple_New(count + 1));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(item(path, i));
    PyTuple_SET_ITEM(longer.ptr(), i, item(path, i));
  }
  Py_INCREF(key);
  PyTuple_SET_ITEM(longer.ptr(), count, key);
  return longer;
}

class WalkWithPaths {
 public:
  WalkWithPaths(PyObject* is_leaf, bool takes_path) : is_leaf_(is_leaf), takes_path_(takes_path) {}

  nb::object run(PyObject* tree) {
    visit(nb::steal(PyTuple_New(0)), tree);
    while (!stack_.empty()) step();
    return nb::make_tuple(pairs_.into_list(), structures_.pop());
  }

 private:
  void step() {
    Open& here = stack_.back();
    PyObject *children = here.parts.children.ptr(), *keys = here.keys.ptr();
    if (here.done < length(keys)) {
      if (here.done >= length(children)) changed();
      const nb::object child = nb::borrow(item(children, here.done));
      nb::object path = extended(here.path.ptr(), item(keys, here.done));
      ++here.done;
      return visit(std::move(path), child.ptr());
    }
    if (length(children) != length(keys)) changed();
    const std::size_t first = here.first_child;
    nb::object treedef =
        treedef_of(here.parts.node.ptr(), structures_.data() + first, structures_.size() - first);
    structures_.shrink(first);
    structures_.push(std::move(treedef));
    stack_.pop_back();
  }

  void visit(nb::object path, PyObject* object) {
    Open opened{{}, {}, std::move(path), 0, structures_.size()};
    try {
      PyObject* kind = kind_of(opened.path, object);
      if (kind == nullptr) return leaf(std::move(opened.path), object);
      expand_with_keys(object, kind, opened);
    } catch (const nb::python_error& error) {
      add_note(error, core.add_path_note, opened.path, object);
      throw;
    }
    PyObject *children = opened.parts.children.ptr(), *keys = opened.keys.ptr();
    if (is_leaf_ == Py_None && kinds_.are_leaves(children) && length(keys) == length(children)) {
      for (Py_ssize_t i = 0; i < length(children); ++i) {
        pair(extended(opened.path.ptr(), item(keys, i)), item(children, i));
      }
      structures_.push(flat_treedef(opened.parts.node.ptr(), length(keys)));
      return;
    }
    stack_.push_back(std::move(opened));
    if (stack_.size() > core.max_depth) raise(call(core.too_deep));
  }

  PyObject* kind_of(const nb::object& path, PyObject* object) {
    if (is_leaf_ != Py_None) {
      const nb::object answer = takes_path_ ? call(is_leaf_, path, object) : call(is_leaf_, object);
      kinds_.forget();
      if (says_leaf(answer.ptr())) return nullptr;
    }
    return kinds_.of(object);
  }

  // A class may be registered with keys, which come from a function of its own.
  void expand_with_keys(PyObject* object, PyObject* kind, Open& opened) {
    const Form form = form_of(kind);
    if (form != Form::kCustom && form != Form::kOther) {
      opened.parts = expand(object, kind, kinds_);
      opened.keys = keys_of(opened.parts.node.ptr(), length(opened.parts.children.ptr()));
      return;
    }
    kinds_.forget();
    const nb::object held = nb::borrow(kind);
    const nb::object triple = call_method(kind, "expand_with_keys", object);
    const auto part = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(triple.ptr(), i); };
    opened.keys = checked(PySequence_Tuple(part(0)));
    opened.parts = {checked(PySequence_Tuple(part(1))), nb::borrow(part(2))};
  }

  void leaf(nb::object path, PyObject* object) {
    pair(std::move(path), object);
    structures_.push(core.leaf);
  }

  void pair(nb::object path, PyObject* object) {
    nb::object result = checked(PyTuple_New(2));
    PyTuple_SET_ITEM(result.ptr(), 0, path.release().ptr());
    Py_INCREF(object);
    PyTuple_SET_ITEM(result.ptr(), 1, object);
    pairs_.push(std::move(result));
  }

  [[noreturn]] static void changed() {
    PyErr_SetString(PyExc_ValueError, "a list changed its length while it was being flattened");
    throw nb::python_error();
  }

  PyObject* is_leaf_;
  bool takes_path_;
  Kinds kinds_;
  References pairs_;
  References structures_;
  std::vector<Open> stack_;
};

}  // namespace

nb::object flatten_with_path(PyObject* tree, PyObject* is_leaf, bool takes_path) {
  return WalkWithPaths(is_leaf, takes_path).run(tree);
}

}  // namespace morphax::tree
