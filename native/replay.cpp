// Eager calls that are known.  The twins are `known_result` in
// morphax/engines/reference/replay.py and, for single operations, `known_application` in eager.py:
// the same tests, the same key in the same table.
#include "replay.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "eager_arrays.h"
#include "keys.h"
#include "process_end.h"

namespace morphax::replay {

namespace nb = nanobind;

namespace {

using eager::allow_short_ways;
using eager::context;
using eager::core;
using eager::FloatErrorsIgnored;
using eager::new_array;

// Integers below it are held by every integer dtype; the twin calls them `_SMALL`.
constexpr long kSmall = 128;
constexpr int kMostNested = 4;

// Whether a static argument is and stays what its key tells.
bool is_constant(PyObject* x) {
  if (PyTuple_CheckExact(x)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(x); ++i) {
      if (!is_constant(PyTuple_GET_ITEM(x, i))) return false;
    }
    return true;
  }
  return x == Py_None || PyBool_Check(x) || PyLong_CheckExact(x) || PyFloat_CheckExact(x) ||
         PyComplex_CheckExact(x) || PyUnicode_CheckExact(x) || PyType_Check(x) ||
         PyArray_DescrCheck(x) || PyObject_TypeCheck(x, &PyGenericArrType_Type);
}

bool is_scalar(PyObject* x) {
  return PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) ||
         PyComplex_CheckExact(x);
}

// Whether it is a list or tuple with an array among its members, or theirs.
bool holds_operands(PyObject* x, int depth = 0) {
  if ((!PyList_CheckExact(x) && !PyTuple_CheckExact(x)) || depth == kMostNested) return false;
  for (Py_ssize_t i = 0; i < length(x); ++i) {
    PyObject* member = item(x, i);
    if (Py_IS_TYPE(member, core.array) || holds_operands(member, depth + 1)) return true;
  }
  return false;
}

// The avals of Python scalars, which depend on their class and the settings (integers are small).
class ScalarAvals {
 public:
  nb::object of(PyObject* x, PyObject* trace_key) {
    if (!settings_.is(trace_key)) {
      settings_ = nb::borrow(trace_key);
      for (nb::object& aval : avals_) aval.reset();
    }
    const int kind = PyFloat_CheckExact(x) ? 0 : PyBool_Check(x) ? 1 : PyLong_CheckExact(x) ? 2 : 3;
    if (!avals_[kind].is_valid()) {
      // Python may run meanwhile, and ask for others.
      nb::object found = call(core.aval_of, x);
      if (!settings_.is(trace_key)) return found;
      avals_[kind] = std::move(found);
    }
    return avals_[kind];
  }

 private:
  nb::object settings_;
  nb::object avals_[4];
};
// Never destroyed, as the interpreter is gone by then.
ScalarAvals& scalar_avals = *new ScalarAvals;

// The array without axes of a dtype, that `write` fills.
template <typename Write>
nb::object new_number(PyArray_Descr* dtype, Write write) {
  Py_INCREF(dtype);
  nb::object array = checked(PyArray_Empty(0, nullptr, dtype, 0));
  write(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr())));
  return array;
}

// A program's operand of a Python scalar.
nb::object array_of_scalar(PyObject* x, PyObject* aval) {
  auto* dtype = reinterpret_cast<PyArray_Descr*>(core.dtype(aval));
  const int type = dtype->type_num;
  if (PyFloat_CheckExact(x) && type == NPY_FLOAT) {
    const double value = PyFloat_AS_DOUBLE(x);
    const auto narrow = static_cast<float>(value);
    // What is beyond the range NumPy converts, and says so.
    if (!std::isinf(narrow) || std::isinf(value)) {
      return new_number(dtype, [=](void* to) { std::memcpy(to, &narrow, sizeof(narrow)); });
    }
  } else if (PyLong_CheckExact(x) && type == NPY_INT32) {
    const auto value = static_cast<std::int32_t>(PyLong_AsLong(x));
    return new_number(dtype, [=](void* to) { std::memcpy(to, &value, sizeof(value)); });
  }
  Py_INCREF(dtype);
  return checked(PyArray_FromAny(x, dtype, 0, 0, 0, nullptr));
}

// An integer that counts by its aval, since every integer dtype holds it; one that counts by its
// value; one that is not remembered.
enum class Size { kSmall, kBelowZero, kOther };

Size size_of(PyObject* integer) {
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(integer, &overflow);
  if (overflow != 0 || value < -kSmall || value >= kSmall) return Size::kOther;
  return value < 0 ? Size::kBelowZero : Size::kSmall;
}

// Whether an argument may be an operand: any, one that is or holds an array, or none.
enum class Role { kOperand, kArray, kStatic };

bool read(PyObject* x, Role role, PyObject* trace_key, References& signature, References& inputs);

// The kind of a list or tuple of operands, and what a program depends on of each.
bool read_members(PyObject* x, PyObject* trace_key, References& signature, References& inputs) {
  References members;
  members.push(reinterpret_cast<PyObject*>(Py_TYPE(x)));
  for (Py_ssize_t i = 0; i < length(x); ++i) {
    // Another thread may change a list while an array is fetched.
    const nb::object member = nb::borrow(item(x, i));
    if (!read(member.ptr(), Role::kOperand, trace_key, members, inputs)) return false;
  }
  signature.push(tuple_of(members.data(), members.size()));
  return true;
}

Role role_in(PyObject* number) { return static_cast<Role>(PyLong_AsLong(number)); }

// What a program depends on of an argument; numbers go to `inputs`.  False if the call cannot be
// replayed.
bool read(PyObject* x, Role role, PyObject* trace_key, References& signature, References& inputs) {
  if (role != Role::kStatic && Py_IS_TYPE(x, core.array)) {
    if (core.committed(x) != Py_False) return false;
    PyObject* host = core.host(x);
    if (host == Py_None) {
      inputs.push(call_method(x, "to_host"));
    } else {
      inputs.push(host);
    }
    signature.push(core.aval(x));
    return true;
  }
  const bool is_number = role == Role::kOperand && is_scalar(x);
  const Size size = is_number && PyLong_CheckExact(x) ? size_of(x) : Size::kSmall;
  if (size == Size::kOther) return false;
  if (is_number && size == Size::kSmall) {
    nb::object aval = scalar_avals.of(x, trace_key);
    inputs.push(array_of_scalar(x, aval.ptr()));
    signature.push(std::move(aval));
    return true;
  }
  if (role != Role::kStatic && holds_operands(x))
    return read_members(x, trace_key, signature, inputs);
  if (!is_constant(x)) return false;
  const nb::object key = keys::key_of(x);
  if (!key.is_valid()) return false;
  PyObject* const one = key.ptr();
  signature.push(tuple_of(&one, 1));
  return true;
}

// NumPy gives scalars where there are no axes.
nb::object as_array(nb::object found) {
  if (PyArray_CheckExact(found.ptr())) return found;
  return checked(PyArray_FromAny(found.ptr(), nullptr, 0, 0, 0, nullptr));
}

// `KernelCall.__call__`.
nb::object run(PyObject* known, const References& inputs) {
  FloatErrorsIgnored ignored;
  nb::object found =
      checked(PyObject_Vectorcall(core.function(known), inputs.data(), inputs.size(), nullptr));
  ignored.end();
  PyObject* aval = core.out_aval(known);
  if (aval != Py_None) return new_array(aval, as_array(std::move(found)));
  found = checked(PySequence_Fast(found.ptr(), "a kernel of several results gives a sequence"));
  PyObject* avals = core.out_avals(known);
  References results;
  for (Py_ssize_t i = 0; i < length(avals); ++i) {
    results.push(new_array(item(avals, i), as_array(nb::borrow(item(found.ptr(), i)))));
  }
  PyObject* collect = core.collect(known);
  nb::object list = results.into_list();
  return collect == reinterpret_cast<PyObject*>(&PyList_Type) ? list : call(collect, list);
}

// The result of a call; None where the function itself is to run, NotImplemented if no program is
// known yet.
nb::object known_result(PyObject* programs, PyObject* positions, PyObject* roles, PyObject* args,
                        PyObject* kwargs) {
  const nb::object config = context.eager_settings();
  if (!allow_short_ways(config)) return nb::none();
  PyObject* trace_key = context.trace_key(config);
  References signature, inputs, names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    const bool has_role = i < PyTuple_GET_SIZE(positions);
    const Role role = has_role ? role_in(PyTuple_GET_ITEM(positions, i)) : Role::kStatic;
    if (!read(PyTuple_GET_ITEM(args, i), role, trace_key, signature, inputs)) return nb::none();
  }
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(kwargs, &position, &name, &value);) {
    PyObject* known = PyDict_GetItemWithError(roles, name);
    if (known == nullptr && PyErr_Occurred()) throw nb::python_error();
    const Role role = known == nullptr ? Role::kStatic : role_in(known);
    if (!read(value, role, trace_key, signature, inputs)) return nb::none();
    names.push(name);
  }
  References parts;
  parts.push(tuple_of(signature.data(), signature.size()));
  parts.push(tuple_of(names.data(), names.size()));
  parts.push(trace_key);
  const nb::object key = tuple_of(parts.data(), parts.size());
  PyObject* found = PyDict_GetItemWithError(programs, key.ptr());
  if (found == nullptr) {
    if (PyErr_Occurred()) throw nb::python_error();
    return nb::borrow(Py_NotImplemented);
  }
  const nb::object program = nb::borrow(found);
  return program.is_none() ? program : run(program.ptr(), inputs);
}

// The results of an operation that was applied before to Arrays like these, or NotImplemented.
nb::object known_application(PyObject* table, PyObject* primitive, PyObject* operands,
                             PyObject* params) {
  const nb::object unknown = nb::borrow(Py_NotImplemented);
  if (!PyTuple_CheckExact(operands) && !PyList_CheckExact(operands)) return unknown;
  References avals, inputs;
  for (Py_ssize_t i = 0; i < length(operands); ++i) {
    PyObject* x = item(operands, i);
    if (!Py_IS_TYPE(x, core.array) || core.committed(x) != Py_False) return unknown;
    if (core.host(x) == Py_None) return unknown;
    inputs.push(core.host(x));
    avals.push(core.aval(x));
  }
  if (!allow_short_ways(context.config())) return unknown;
  const nb::object parameters = keys::params_key(params);
  if (!parameters.is_valid()) return unknown;
  const nb::object types = tuple_of(avals.data(), avals.size());
  PyObject* const parts[] = {primitive, parameters.ptr(), types.ptr()};
  const nb::object key = tuple_of(parts, 3);
  PyObject* found = PyDict_GetItemWithError(table, key.ptr());
  if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
  if (found == nullptr || core.is_plain(found) != Py_True) return unknown;
  const nb::object held = nb::borrow(found);
  return run(held.ptr(), inputs);
}

PyObject* known_application_of_python(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return guarded([&] {
    const process_end::Call under_way;
    return known_application(arguments[0], arguments[1], arguments[2], arguments[3]);
  });
}

PyObject* known_result_of_python(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return guarded([&] {
    const process_end::Call under_way;
    return known_result(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
  });
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  static PyMethodDef functions[] = {
      {"known_result",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&known_result_of_python)),
       METH_FASTCALL, "The result of a call whose program is known."},
      {"known_application",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&known_application_of_python)),
       METH_FASTCALL, "The results of an operation that was applied before."},
      {nullptr, nullptr, 0, nullptr},
  };
  check_status(PyModule_AddFunctions(module.ptr(), functions));
  module.def("install", &eager::install);
}

}  // namespace morphax::replay
