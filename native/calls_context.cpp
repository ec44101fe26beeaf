#include "calls_context.h"

namespace morphax::calls {

namespace {

// The attributes of a `threading.local` in this thread, which last as long as its Python state.
struct ThreadAttributes {
  std::uint64_t thread = 0;
  PyObject* attributes = nullptr;
};
thread_local ThreadAttributes this_thread;

}  // namespace

void Context::install(nb::handle settings, nb::handle current_trace, nb::handle eager_trace) {
  state_ = kept(settings.attr("__dict__"));
  scope_variable_ = kept(settings.attr("_scope"));
  current_config_ = kept(settings.attr("current"));
  const nb::object scope = settings.attr("_Scope");
  scope_type_ = kept_type(scope);
  scope_process_ = {scope, "process"};
  scope_config_ = {scope, "config"};
  const nb::object config = settings.attr("Config");
  trace_key_ = {config, "trace_key"};
  watches_calls_ = {config, "watches_calls"};
  debugs_execution_ = {config, "debugs_execution"};
  current_ = kept(current_trace);
  root_trace_ = kept(current_trace.type().attr("trace"));
  no_axes_ = kept(current_trace.type().attr("axis_env"));
  eager_trace_ = kept_type(eager_trace);
  process_name_ = PyUnicode_InternFromString("_process");
  trace_name_ = PyUnicode_InternFromString("trace");
  axis_env_name_ = PyUnicode_InternFromString("axis_env");
}

// `current()` of `config/state.py`.
nb::object Context::config() {
  PyObject* found = nullptr;
  check_status(PyContextVar_Get(scope_variable_, nullptr, &found));
  const nb::object scope = nb::steal(found);
  PyObject* process = PyDict_GetItemWithError(state_, process_name_);
  if (process == nullptr) throw nb::python_error();
  if (scope.is_none()) return nb::borrow(process);
  if (scope_process_(scope) == process) return nb::borrow(scope_config_(scope));
  return call(current_config_);
}

// Borrowed.  What a thread has not set is as its class says.
PyObject* Context::of_thread(PyObject* name, PyObject* default_value) {
  const std::uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
  if (this_thread.thread != thread) {
    const nb::object attributes = checked(PyObject_GetAttrString(current_, "__dict__"));
    this_thread = {thread, attributes.ptr()};
  }
  PyObject* value = PyDict_GetItemWithError(this_thread.attributes, name);
  if (value == nullptr && PyErr_Occurred()) throw nb::python_error();
  return value == nullptr ? default_value : value;
}

bool Context::computes_at_once() { return Py_IS_TYPE(trace(), eager_trace_); }

PyObject* Context::plain_trace_key() {
  if (!computes_at_once() || PyObject_Size(axis_env()) != 0) return nullptr;
  const nb::object settings = config();
  // The key is kept by the table of all keys.
  return watches_calls_(settings) == Py_False ? trace_key_(settings) : nullptr;
}

nb::object Context::eager_settings() { return computes_at_once() ? config() : nb::object(); }

}  // namespace morphax::calls
