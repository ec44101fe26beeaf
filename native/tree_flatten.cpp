// Flattening, and matching with a structure.
#include <vector>

#include "tree.h"

namespace morphax::tree {

bool says_leaf(PyObject* answer) {
  if (answer == Py_True) return true;
  if (answer == Py_False || answer == Py_None) return false;
  return call(core.says_leaf, answer).is(nb::handle(Py_True));
}

namespace {

// A node that is being flattened.
struct Open {
  Expansion parts;
  Py_ssize_t done;          // how many children are
  std::size_t first_child;  // where the children's structures begin among all
};

class Walk {
 public:
  Walk(PyObject* is_leaf) : is_leaf_(is_leaf) {}

  Flattened run(PyObject* tree) {
    PyObject* kind = kind_of(tree);
    if (kind == nullptr) {
      leaves_.push(tree);
      return {std::move(leaves_), nb::borrow(core.leaf)};
    }
    Expansion root = expand_root(tree, kind);
    if (take_leaves(root)) {
      const auto arity = leaves_.size();
      return {std::move(leaves_), flat_treedef(root.node.ptr(), arity)};
    }
    open(std::move(root));
    try {
      while (!stack_.empty()) step();
    } catch (const nb::python_error& error) {
      add_note(error, core.note_place, places());
      throw;
    }
    return {std::move(leaves_), structures_.pop()};
  }

 private:
  // Borrowed; null for a leaf, also by the word of `is_leaf`.
  PyObject* kind_of(PyObject* object) {
    if (is_leaf_ != Py_None) {
      const nb::object answer = call(is_leaf_, object);
      kinds_.forget();
      if (says_leaf(answer.ptr())) return nullptr;
    }
    return kinds_.of(object);
  }

  Expansion expand_root(PyObject* tree, PyObject* kind) {
    try {
      return expand(tree, kind, kinds_);
    } catch (const nb::python_error& error) {
      add_note(error, core.add_path_note, checked(PyTuple_New(0)), tree);
      throw;
    }
  }

  // Takes all children if they are leaves, which `is_leaf` would have to be asked about.
  bool take_leaves(const Expansion& parts) {
    PyObject* children = parts.children.ptr();
    if (is_leaf_ != Py_None || !kinds_.are_leaves(children)) return false;
    for (Py_ssize_t i = 0; i < length(children); ++i) leaves_.push(item(children, i));
    return true;
  }

  void open(Expansion parts) {
    stack_.push_back({std::move(parts), 0, structures_.size()});
    if (stack_.size() > core.max_depth + 1) {
      stack_.pop_back();
      raise(call(core.too_deep));
    }
  }

  // The next child of the innermost open node, or its end.
  void step() {
    Open& here = stack_.back();
    PyObject* children = here.parts.children.ptr();
    if (here.done >= length(children)) return close();
    const nb::object child = nb::borrow(item(children, here.done));
    PyObject* kind = kind_of(child.ptr());
    if (kind == nullptr) {
      leaves_.push(child);
      structures_.push(core.leaf);
      ++here.done;
      return;
    }
    Expansion parts = expand(child.ptr(), kind, kinds_);
    const std::size_t before = leaves_.size();
    if (take_leaves(parts)) {
      structures_.push(flat_treedef(parts.node.ptr(), leaves_.size() - before));
      ++here.done;
    } else {
      open(std::move(parts));
    }
  }

  void close() {
    const Open& here = stack_.back();
    const std::size_t first = here.first_child;
    nb::object treedef =
        treedef_of(here.parts.node.ptr(), structures_.data() + first, structures_.size() - first);
    structures_.shrink(first);
    structures_.push(std::move(treedef));
    stack_.pop_back();
    if (!stack_.empty()) ++stack_.back().done;
  }

  nb::object places() const {
    nb::list result;
    for (const Open& open : stack_) {
      result.append(nb::make_tuple(open.parts.node, open.parts.children, open.done));
    }
    return std::move(result);
  }

  PyObject* is_leaf_;
  Kinds kinds_;
  References leaves_;
  References structures_;
  std::vector<Open> stack_;
};

}  // namespace

Flattened flatten(PyObject* tree, PyObject* is_leaf) { return Walk(is_leaf).run(tree); }

nb::object match(PyObject* treedef, PyObject* tree) {
  Kinds kinds;
  References subtrees;
  std::vector<std::pair<PyObject*, nb::object>> stack;
  stack.emplace_back(treedef, nb::borrow(tree));
  while (!stack.empty()) {
    const auto [here, subtree] = std::move(stack.back());
    stack.pop_back();
    if (here == core.leaf) {
      subtrees.push(subtree);
      continue;
    }
    PyObject* kind = kinds.of(subtree.ptr());
    if (kind == nullptr) return nb::none();
    Expansion parts;
    try {
      parts = expand(subtree.ptr(), kind, kinds);
    } catch (const nb::python_error& error) {
      add_note(error, core.note_path, treedef, tree, subtree);
      throw;
    }
    PyObject *children = parts.children.ptr(), *below = core.children(here);
    if (length(children) != length(below)) return nb::none();
    if (!same_node(core.root(here), parts.node.ptr())) return nb::none();
    if (core.flat(here) == Py_True) {
      for (Py_ssize_t i = 0; i < length(children); ++i) subtrees.push(item(children, i));
    } else {
      for (Py_ssize_t i = length(children); i-- > 0;) {
        stack.emplace_back(item(below, i), nb::borrow(item(children, i)));
      }
    }
  }
  return subtrees.into_list();
}

}  // namespace morphax::tree
