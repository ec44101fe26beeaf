// Keys of parameters: equal only where nothing could tell the values apart.
#include "keys.h"

#include "objects.h"

namespace morphax::keys {

namespace {

constexpr int kMaxDepth = 64;

// What the Python side hands over; see `install`.  Never given back.
struct Core {
  PyObject *rules, *learn;
  PyObject *none, *yes, *no, *of_kind, *itself, *members;
};
Core core;

nb::object key(PyObject* value, int depth);

// The keys of `count` values in a row; `whole`, if there is one, where each is its own key. Without
// it, the kind stands in front.
template <typename Next>
nb::object keys(PyObject* whole, PyObject* kind, Py_ssize_t count, int depth, Next next) {
  if (depth >= kMaxDepth) return {};
  References found;
  bool changed = whole == nullptr;
  if (changed) {
    found.push(core.of_kind);
    found.push(kind);
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    const nb::object value = next(i);
    nb::object one = key(value.ptr(), depth + 1);
    if (!one.is_valid()) return {};
    changed = changed || !one.is(value);
    found.push(std::move(one));
  }
  return changed ? tuple_of(found.data(), found.size()) : nb::borrow(whole);
}

nb::object members_of(PyObject* tuple, PyObject* whole, PyObject* kind, int depth) {
  return keys(whole, kind, PyTuple_GET_SIZE(tuple), depth,
              [&](Py_ssize_t i) { return nb::borrow(PyTuple_GET_ITEM(tuple, i)); });
}

// A mark, which has no key, if there is no such attribute.
nb::object attribute(PyObject* value, PyObject* name) {
  nb::object found = nb::steal(PyObject_GetAttr(value, name));
  if (found.is_valid()) return found;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
  PyErr_Clear();
  return nb::borrow(core.none);
}

nb::object rule_of(PyObject* kind) {
  PyObject* known = PyDict_GetItemWithError(core.rules, kind);
  if (known != nullptr) return nb::borrow(known);
  if (PyErr_Occurred()) throw nb::python_error();
  return call(core.learn, kind);
}

nb::object key(PyObject* value, int depth) {
  if (PyLong_CheckExact(value) || PyUnicode_CheckExact(value)) return nb::borrow(value);
  if (PyTuple_CheckExact(value)) return members_of(value, value, nullptr, depth);
  if (value == Py_None) return nb::borrow(core.none);
  if (value == Py_True) return nb::borrow(core.yes);
  if (value == Py_False) return nb::borrow(core.no);
  PyObject* kind = reinterpret_cast<PyObject*>(Py_TYPE(value));
  const nb::object rule = rule_of(kind);
  if (rule.is(core.itself)) return nb::borrow(value);
  if (rule.is(core.members)) return members_of(value, nullptr, kind, depth);
  if (PyTuple_CheckExact(rule.ptr())) {
    return keys(nullptr, kind, PyTuple_GET_SIZE(rule.ptr()), depth,
                [&](Py_ssize_t i) { return attribute(value, PyTuple_GET_ITEM(rule.ptr(), i)); });
  }
  nb::object found = call(rule, value);
  return found.is_none() ? nb::object() : found;
}

PyObject* key_or_none(PyObject*, PyObject* value) {
  return guarded([&] {
    nb::object found = key_of(value);
    return found.is_valid() ? found : nb::none();
  });
}

PyObject* params_key_or_none(PyObject*, PyObject* params) {
  return guarded([&] {
    nb::object found = params_key(params);
    return found.is_valid() ? found : nb::none();
  });
}

void install(nb::handle rules, nb::handle learn, nb::handle none, nb::handle yes, nb::handle no,
             nb::handle of_kind, nb::handle itself, nb::handle members) {
  core = {kept(rules), kept(learn),   kept(none),   kept(yes),
          kept(no),    kept(of_kind), kept(itself), kept(members)};
}

}  // namespace

nb::object key_of(PyObject* value) { return key(value, 0); }

nb::object params_key(PyObject* params) {
  if (!PyDict_CheckExact(params)) {
    PyErr_SetString(PyExc_TypeError, "parameters are a dict");
    throw nb::python_error();
  }
  References parts;
  PyObject *name = nullptr, *value = nullptr;
  // The rule of a value may run code that changes the dictionary.
  for (Py_ssize_t position = 0; PyDict_Next(params, &position, &name, &value);) {
    const nb::object held = nb::borrow(value);
    parts.push(name);
    nb::object found = key(held.ptr(), 0);
    if (!found.is_valid()) return {};
    parts.push(std::move(found));
  }
  return tuple_of(parts.data(), parts.size());
}

void bind(nb::module_& module) {
  static PyMethodDef functions[] = {
      {"key_of", key_or_none, METH_O, "What tells a value from all others, or None."},
      {"params_key", params_key_or_none, METH_O, "The key of parameters, or None."},
      {nullptr, nullptr, 0, nullptr},
  };
  check_status(PyModule_AddFunctions(module.ptr(), functions));
  module.def("install", &install);
}

}  // namespace morphax::keys
