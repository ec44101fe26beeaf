// Equations that are written again.  The twins are `read_call` in morphax/core/recorded_calls.py:
// the same tests, the same key; and `write_rows` in morphax/core/staging.py.
#include "staging.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "calls_context.h"
#include "keys.h"

namespace morphax::staging {

namespace nb = nanobind;

namespace {

constexpr int kMostNested = 4;

// The classes of the Python side; see `install`.  Never given back.
struct Core {
  PyTypeObject *trace, *tracer, *equation, *variable;
  Slot ask;                                 // of `StagingTrace`
  Slot owner, aval, atom;                   // of `StagingTracer`
  Slot primitive, invars, outvars, params;  // of `Equation`
  Slot effects, source, name_stack, type;   // of `Equation`, and of `Var`
};
Core core;
calls::Context context;

bool is_constant(PyObject* x) {
  return x == Py_None || PyBool_Check(x) || PyLong_CheckExact(x) || PyFloat_CheckExact(x) ||
         PyComplex_CheckExact(x) || PyUnicode_CheckExact(x) || PyType_Check(x) ||
         PyArray_DescrCheck(x) || PyObject_TypeCheck(x, &PyGenericArrType_Type);
}

// `_read`; invalid where that is `None`.
nb::object read(PyObject* trace, PyObject* x, References& operands, int depth = 0) {
  if (Py_IS_TYPE(x, core.tracer)) {
    if (core.owner(x) != trace) return {};
    operands.push(core.atom(x));
    return nb::borrow(core.aval(x));
  }
  if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) {
    if (depth == kMostNested) return {};
    References members;
    members.push(reinterpret_cast<PyObject*>(Py_TYPE(x)));
    members.push(checked(PyLong_FromSsize_t(length(x))));
    for (Py_ssize_t i = 0; i < length(x); ++i) {
      // Another thread may change a list while a key is made.
      const nb::object member = nb::borrow(item(x, i));
      nb::object part = read(trace, member.ptr(), operands, depth + 1);
      if (!part.is_valid()) return {};
      members.push(std::move(part));
    }
    return tuple_of(members.data(), members.size());
  }
  if (!is_constant(x)) return {};
  const nb::object key = keys::key_of(x);
  if (!key.is_valid()) return {};
  PyObject* const one = key.ptr();
  return tuple_of(&one, 1);
}

// Which operands are the same, by the place of the first; empty where all differ.
nb::object repeats(const References& operands) {
  std::vector<PyObject*> sorted(operands.data(), operands.data() + operands.size());
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return nb::tuple();
  std::unordered_map<PyObject*, std::size_t> places;
  References firsts;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    firsts.push(checked(PyLong_FromSize_t(places.emplace(operands[i], i).first->second)));
  }
  return tuple_of(firsts.data(), firsts.size());
}

// The trace, the key and the operands of a call that may be known, `None` if it cannot be.
nb::object read_call(PyObject* args, PyObject* kwargs) {
  const nb::object trace = nb::borrow(context.trace());
  if (!Py_IS_TYPE(trace.ptr(), core.trace) || core.ask(trace) != Py_None) return nb::none();
  References signature, operands, names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    nb::object part = read(trace.ptr(), PyTuple_GET_ITEM(args, i), operands);
    if (!part.is_valid()) return nb::none();
    signature.push(std::move(part));
  }
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t position = 0; PyDict_Next(kwargs, &position, &name, &value);) {
    nb::object part = read(trace.ptr(), value, operands);
    if (!part.is_valid()) return nb::none();
    signature.push(std::move(part));
    names.push(name);
  }
  const nb::object config = context.config();
  if (context.debugs_execution(config)) return nb::none();
  nb::object axes = nb::borrow(context.axis_env());
  if (PyObject_Size(axes.ptr()) != 0) axes = keys::key_of(axes.ptr());
  if (!axes.is_valid()) return nb::none();
  References parts;
  parts.push(tuple_of(signature.data(), signature.size()));
  parts.push(tuple_of(names.data(), names.size()));
  parts.push(context.trace_key(config));
  parts.push(std::move(axes));
  parts.push(repeats(operands));
  References call;
  call.push(trace);
  call.push(tuple_of(parts.data(), parts.size()));
  call.push(operands.into_list());
  return tuple_of(call.data(), call.size());
}

nb::object new_variable(PyObject* aval) {
  nb::object variable = new_instance(core.variable);
  core.type.fill(variable.ptr(), nb::borrow(aval));
  return variable;
}

// Append the equations of a template, with `atoms` for what the rows number, to a list of
// equations.
void write_rows(PyObject* rows, PyObject* atoms, PyObject* equations, PyObject* source,
                PyObject* names) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); ++i) {
    PyObject* const row = PyTuple_GET_ITEM(rows, i);
    PyObject* const model = PyTuple_GET_ITEM(row, 0);
    PyObject* const places = PyTuple_GET_ITEM(row, 1);
    PyObject* const avals = PyTuple_GET_ITEM(row, 2);
    nb::object invars = checked(PyTuple_New(PyTuple_GET_SIZE(places)));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(places); ++k) {
      PyObject* atom = PyList_GetItem(atoms, PyLong_AsSsize_t(PyTuple_GET_ITEM(places, k)));
      if (atom == nullptr) throw nb::python_error();
      PyTuple_SET_ITEM(invars.ptr(), k, nb::borrow(atom).release().ptr());
    }
    nb::object outvars = checked(PyTuple_New(PyTuple_GET_SIZE(avals)));
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(avals); ++k) {
      nb::object variable = new_variable(PyTuple_GET_ITEM(avals, k));
      check_status(PyList_Append(atoms, variable.ptr()));
      PyTuple_SET_ITEM(outvars.ptr(), k, variable.release().ptr());
    }
    nb::object equation = new_instance(core.equation);
    core.primitive.fill(equation.ptr(), nb::borrow(core.primitive(model)));
    core.invars.fill(equation.ptr(), std::move(invars));
    core.outvars.fill(equation.ptr(), std::move(outvars));
    core.params.fill(equation.ptr(), nb::borrow(core.params(model)));
    core.effects.fill(equation.ptr(), nb::borrow(core.effects(model)));
    PyObject* const line = core.source(model);
    core.source.fill(equation.ptr(), nb::borrow(line == Py_None ? source : line));
    core.name_stack.fill(equation.ptr(), nb::borrow(names));
    check_status(PyList_Append(equations, equation.ptr()));
  }
}

PyObject* read_call_of_python(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return guarded([&] { return read_call(arguments[0], arguments[1]); });
}

PyObject* write_rows_of_python(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return guarded([&] {
    write_rows(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
    return nb::none();
  });
}

void install(nb::handle trace, nb::handle tracer, nb::handle equation, nb::handle variable,
             nb::handle settings_module, nb::handle current_trace) {
  core.trace = kept_type(trace);
  core.tracer = kept_type(tracer);
  core.equation = kept_type(equation);
  core.variable = kept_type(variable);
  core.ask = {trace, "ask"};
  core.owner = {tracer, "_trace"};
  core.aval = {tracer, "aval"};
  core.atom = {tracer, "atom"};
  core.primitive = {equation, "primitive"};
  core.invars = {equation, "invars"};
  core.outvars = {equation, "outvars"};
  core.params = {equation, "params"};
  core.effects = {equation, "effects"};
  core.source = {equation, "source"};
  core.name_stack = {equation, "name_stack"};
  core.type = {variable, "aval"};
  context.install(settings_module, current_trace, current_trace.attr("trace").type());
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  static PyMethodDef functions[] = {
      {"read_call",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&read_call_of_python)),
       METH_FASTCALL, "The trace, key and operands of a call that may be known."},
      {"write_rows",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&write_rows_of_python)),
       METH_FASTCALL, "Append the equations of a template to those of a program."},
      {nullptr, nullptr, 0, nullptr},
  };
  check_status(PyModule_AddFunctions(module.ptr(), functions));
  module.def("install", &install);
}

}  // namespace morphax::staging
