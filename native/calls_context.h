// What a call depends on besides its arguments: settings, the current trace, the named axes.
#pragma once

#include "objects.h"

namespace morphax::calls {

class Context {
 public:
  // The objects are those of `config/state.py` and `core/trace.py`.
  void install(nb::handle settings, nb::handle current_trace, nb::handle eager_trace);

  // The key of the settings in force if calls may take the short way: no option watches execution,
  // operations are computed at once, and no axis has a name.  Null otherwise.
  PyObject* plain_trace_key();

  // The settings in force if operations are computed at once; invalid otherwise.
  nb::object eager_settings();

  // The settings in force.
  nb::object config();

  // Of settings: the key of what programs depend on, borrowed, and whether execution is debugged.
  PyObject* trace_key(nb::handle settings) { return trace_key_(settings); }
  bool debugs_execution(nb::handle settings) { return debugs_execution_(settings) != Py_False; }

  // The current trace, and the named axes.  Borrowed.
  PyObject* trace() { return of_thread(trace_name_, root_trace_); }
  PyObject* axis_env() { return of_thread(axis_env_name_, no_axes_); }

 private:
  bool computes_at_once();
  PyObject* of_thread(PyObject* name, PyObject* default_value);

  PyObject *scope_variable_, *state_, *current_config_;  // settings
  Slot scope_process_, scope_config_, trace_key_, watches_calls_, debugs_execution_;
  PyTypeObject* scope_type_;
  PyObject* current_;  // the thread-local trace
  PyObject *root_trace_, *no_axes_;
  PyTypeObject* eager_trace_;
  PyObject *process_name_, *trace_name_, *axis_env_name_;
};

}  // namespace morphax::calls
