// Trees: the compiled twins of the functions under `@twin` in `morphax/tree`.
//
// Structures (`PyTreeDef`), nodes and kinds of nodes are the Python objects of that package.  No
// walk recurses: each keeps its own stack, since trees may be deeper than C's.  A user's function
// may run wherever a node is taken apart or built, and there do anything: change containers that
// are being walked over, register classes, flatten other trees, raise.
#pragma once

#include "objects.h"

namespace morphax::tree {

// What a kind of node is, in the order in which `install` takes the classes of kinds.
enum class Form { kNone, kSequence, kDict, kNamedTuple, kDataclass, kCustom, kOther };
inline constexpr int kForms = static_cast<int>(Form::kOther);

// The classes, tables and functions that the Python side hands over when it is imported.  They are
// never given back: the interpreter may be gone when C++ destroys its globals.
struct Core {
  PyTypeObject* node;
  Slot kind, data, canonical, known, keys;
  PyTypeObject* treedef;
  Slot root, children, num_leaves, num_nodes, flat, shared, hash, program;
  PyObject* leaf;  // the structure of any leaf

  PyObject* kinds;  // type -> kind, None for a leaf
  PyTypeObject* forms[kForms];
  Slot kind_type;
  Slot none_node, sequence_node, dict_empty, named_tuple_node;  // nodes that a kind keeps
  Slot dataclass_plain, dataclass_fields, dataclass_meta;
  Slot custom_plain, custom_flatten, custom_unflatten;
  PyObject *tuple_kind, *list_kind, *dict_kind, *none_kind;

  std::size_t max_depth;
  PyObject *add_path_note, *note_path, *note_place, *same_data, *says_leaf, *too_deep;
  PyObject* wrong_number_of_leaves;
  PyObject* nothing_known;
};
extern Core core;

Form form_of(PyObject* kind);
inline Form form_of_node(PyObject* node) { return form_of(core.kind(node)); }

// The kinds of a walk's objects.  It remembers the last type that was a leaf's; `forget` must be
// called when a user's function has run, which may have registered that type.
class Kinds {
 public:
  // Borrowed; null for a leaf.
  PyObject* of(PyObject* object);
  // Whether all children are of types known to be those of leaves.  Runs no user's code.
  bool are_leaves(PyObject* children);
  void forget() { leaf_type_.reset(); }

 private:
  static PyObject* known(PyObject* type);

  nb::object leaf_type_;
};

// An object taken apart.
struct Expansion {
  nb::object children;  // a tuple or list
  nb::object node;
};
Expansion expand(PyObject* object, PyObject* kind, Kinds& kinds);
nb::object keys_of(PyObject* node, Py_ssize_t arity);

// Structures.
nb::object treedef_of(PyObject* node, PyObject* const* children, std::size_t count);
nb::object flat_treedef(PyObject* node, std::size_t arity);
bool same_node(PyObject* left, PyObject* right);
bool equal(PyObject* left, PyObject* right);
// Whether nothing tells two equal structures apart; see morphax/tree/_structure_keys.py.
bool same(PyObject* left, PyObject* right);
void install_data_key(nb::handle data_key);
Py_hash_t hash(PyObject* treedef);

inline Py_ssize_t leaf_count(PyObject* treedef) {
  return PyLong_AsSsize_t(core.num_leaves(treedef));
}

// Flattening.
struct Flattened {
  References leaves;
  nb::object treedef;
};
Flattened flatten(PyObject* tree, PyObject* is_leaf = Py_None);
bool says_leaf(PyObject* answer);
// Adds to the error that is being handled where it arose, unless it is an exit or an interrupt.
template <typename... Args>
void add_note(const nb::python_error& error, PyObject* function, Args... args) {
  if (error.matches(PyExc_Exception)) call(function, error.value(), args...);
}

[[noreturn]] inline void raise(const nb::object& error) {
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

// Building a tree from exactly as many leaves as its structure has.
nb::object unflatten(PyObject* treedef, PyObject* const* leaves);

// Functions that Python calls.
using Arguments = PyObject* const*;
nb::object flatten_with_path(PyObject* tree, PyObject* is_leaf, bool takes_path);
nb::object match(PyObject* treedef, PyObject* tree);
void bind(nb::module_& module);

}  // namespace morphax::tree
