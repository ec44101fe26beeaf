// What Python sees of the compiled core of trees: `morphax._native.tree`.
//
// The functions are bound with CPython's own interface, not nanobind's: they take positional
// arguments only, and a call of tree_flatten is to cost little more than the work.
#include "tree.h"

namespace morphax::tree {

Core core;

namespace {

PyObject* builtin_kind(nb::handle type) {
  return kept(checked(PyObject_GetItem(core.kinds, type.ptr())));
}

void install(nb::handle node, nb::handle treedef, nb::handle leaf, nb::handle kinds,
             nb::tuple forms, std::size_t max_depth, nb::dict errors) {
  core.node = kept_type(node);
  core.kind = {node, "kind"};
  core.data = {node, "data"};
  core.canonical = {node, "canonical"};
  core.known = {node, "known"};
  core.keys = {node, "_keys"};
  core.treedef = kept_type(treedef);
  core.root = {treedef, "_node"};
  core.children = {treedef, "_defs"};
  core.num_leaves = {treedef, "_num_leaves"};
  core.num_nodes = {treedef, "_num_nodes"};
  core.flat = {treedef, "_flat"};
  core.shared = {treedef, "_shared"};
  core.hash = {treedef, "_hash"};
  core.program = {treedef, "_program"};
  core.leaf = kept(leaf);
  core.kinds = kept(kinds);
  for (int i = 0; i < kForms; ++i) core.forms[i] = kept_type(forms[i]);
  core.kind_type = {forms[0], "type"};
  core.none_node = {forms[0], "_node"};
  core.sequence_node = {forms[1], "_node"};
  core.dict_empty = {forms[2], "_empty"};
  core.named_tuple_node = {forms[3], "_node"};
  core.dataclass_plain = {forms[4], "_plain"};
  core.dataclass_fields = {forms[4], "_fields"};
  core.dataclass_meta = {forms[4], "_meta"};
  core.custom_plain = {forms[5], "_plain"};
  core.custom_flatten = {forms[5], "_flatten"};
  core.custom_unflatten = {forms[5], "_unflatten"};
  core.none_kind = builtin_kind(nb::none().type());
  core.tuple_kind = builtin_kind(reinterpret_cast<PyObject*>(&PyTuple_Type));
  core.list_kind = builtin_kind(reinterpret_cast<PyObject*>(&PyList_Type));
  core.dict_kind = builtin_kind(reinterpret_cast<PyObject*>(&PyDict_Type));
  core.max_depth = max_depth;
  core.add_path_note = kept(errors["add_path_note"]);
  core.note_path = kept(errors["note_path"]);
  core.note_place = kept(errors["note_place"]);
  core.same_data = kept(errors["same_data"]);
  core.says_leaf = kept(errors["says_leaf"]);
  core.too_deep = kept(errors["too_deep"]);
  core.wrong_number_of_leaves = kept(errors["wrong_number_of_leaves"]);
  core.nothing_known = checked(PyDict_New()).release().ptr();
}

// The functions below are called by the Python side alone, with arguments of the right types; only
// their number is checked.
template <int count>
void check_count(Py_ssize_t given) {
  if (given == count) return;
  PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd", count, given);
  throw nb::python_error();
}

PyObject* py_flatten(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    check_count<2>(count);
    Flattened result = flatten(args[0], args[1]);
    nb::object pair = checked(PyTuple_New(2));
    PyTuple_SET_ITEM(pair.ptr(), 0, result.leaves.into_list().release().ptr());
    PyTuple_SET_ITEM(pair.ptr(), 1, result.treedef.release().ptr());
    return pair;
  });
}

PyObject* py_flatten_with_path(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    check_count<3>(count);
    const int takes_path = PyObject_IsTrue(args[2]);
    check_status(takes_path);
    return flatten_with_path(args[0], args[1], takes_path != 0);
  });
}

PyObject* py_match(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    check_count<2>(count);
    return match(args[0], args[1]);
  });
}

PyObject* py_build_tree(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    check_count<2>(count);
    // A user's function must not change a list that is being read.
    const nb::object leaves = checked(PySequence_Tuple(args[1]));
    if (length(leaves.ptr()) != leaf_count(args[0])) {
      raise(call(core.wrong_number_of_leaves, nb::int_(length(leaves.ptr())),
                 core.num_leaves(args[0]), args[0]));
    }
    return unflatten(args[0], reinterpret_cast<PyTupleObject*>(leaves.ptr())->ob_item);
  });
}

PyObject* py_treedef_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    check_count<2>(count);
    return treedef_of(args[0], PySequence_Fast_ITEMS(args[1]),
                      static_cast<std::size_t>(length(args[1])));
  });
}

PyObject* py_flat_treedef(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    check_count<2>(count);
    return flat_treedef(args[0], static_cast<std::size_t>(PyLong_AsSsize_t(args[1])));
  });
}

PyObject* py_equal(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    check_count<2>(count);
    return boolean(equal(args[0], args[1]));
  });
}

PyObject* py_hash(PyObject*, PyObject* treedef) {
  return guarded([&] { return checked(PyLong_FromSsize_t(hash(treedef))); });
}

template <typename Function>
constexpr PyMethodDef method(const char* name, Function function) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL, nullptr};
}

}  // namespace

void bind(nb::module_& module) {
  static PyMethodDef functions[] = {
      method("flatten", py_flatten),       method("flatten_with_path", py_flatten_with_path),
      method("match", py_match),           method("build_tree", py_build_tree),
      method("treedef_of", py_treedef_of), method("flat_treedef", py_flat_treedef),
      method("equal", py_equal),           {"hash", py_hash, METH_O, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  check_status(PyModule_AddFunctions(module.ptr(), functions));
  module.def("install_data_key", &install_data_key);
  module.def("install", &install, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg("errors"));
}

}  // namespace morphax::tree
