// What eager calls that take a short way know of Arrays, and when there is such a way.
#pragma once

#include "calls_context.h"

namespace morphax::eager {

// The classes and functions of the Python side; see `install`.  Never given back.
struct Core {
  PyTypeObject* array;
  Slot aval, host, buffer, place, committed;              // of `Array`
  Slot dtype;                                             // of `ShapedArray`
  Slot function, out_aval, out_avals, collect, is_plain;  // of `KernelCall`
  Slot known_parts;                                       // of `Config`
  PyObject *aval_of, *host_is_default, *preferred_engines;
  PyObject *ignore_errors, *restore_errors;
  PyObject *shardings, *home;  // the names in a module, and one of them
};
extern Core core;
extern calls::Context context;

void install(nb::handle array, nb::handle shaped_array, nb::handle kernel_call, nb::handle aval_of,
             nb::handle host_is_default, nb::handle preferred_engines, nb::handle ignore_errors,
             nb::handle restore_errors, nb::handle shardings, nb::handle settings_module,
             nb::handle current_trace);

// Whether calls may take a short way under these settings.
bool allow_short_ways(const nb::object& settings);

// An Array at home of these numbers.
nb::object new_array(PyObject* aval, nb::object host);

// NumPy's errors are ignored in this context while a program runs.
class FloatErrorsIgnored {
 public:
  FloatErrorsIgnored() : before_(call(core.ignore_errors)) {}
  void end() { call(core.restore_errors, std::exchange(before_, nb::object())); }
  ~FloatErrorsIgnored() {
    if (!before_.is_valid()) return;
    // An exception is on its way, which nothing here may replace.
    nb::error_scope kept_error;
    nb::steal(PyObject_CallOneArg(core.restore_errors, before_.ptr()));
    PyErr_Clear();
  }

 private:
  nb::object before_;
};

}  // namespace morphax::eager
