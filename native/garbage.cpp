// Callbacks of Python's garbage collector; the twin is morphax/util/garbage.py.
#include "garbage.h"

namespace nb = nanobind;

namespace morphax::garbage {

namespace {

// `function` is called without arguments; no frame of Python is entered before it.
PyObject* call_at_start(PyObject* function, PyObject* const* args, Py_ssize_t count) {
  if (count > 0 && PyUnicode_Check(args[0]) &&
      PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
    PyObject* result = PyObject_CallNoArgs(function);
    if (result == nullptr) return nullptr;
    Py_DECREF(result);
  }
  Py_RETURN_NONE;
}

PyMethodDef callback = {"at_start_of_collection",
                        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_at_start)),
                        METH_FASTCALL, nullptr};

}  // namespace

void bind(nb::module_& module) {
  module.def(
      "at_start_of_collection",
      [](nb::object function) {
        PyObject* made = PyCFunction_New(&callback, function.ptr());
        if (made == nullptr) throw nb::python_error();
        return nb::steal(made);
      },
      nb::arg("function"), "A callback for gc.callbacks, which calls `function` at each start.");
}

}  // namespace morphax::garbage
