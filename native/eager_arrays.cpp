#include "eager_arrays.h"

namespace morphax::eager {

Core core;
calls::Context context;

void install(nb::handle array, nb::handle shaped_array, nb::handle kernel_call, nb::handle aval_of,
             nb::handle host_is_default, nb::handle preferred_engines, nb::handle ignore_errors,
             nb::handle restore_errors, nb::handle shardings, nb::handle settings_module,
             nb::handle current_trace) {
  core.array = kept_type(array);
  core.aval = {array, "aval"};
  core.host = {array, "_host"};
  core.buffer = {array, "_buffer"};
  core.place = {array, "place"};
  core.committed = {array, "_committed"};
  core.dtype = {shaped_array, "dtype"};
  core.function = {kernel_call, "function"};
  core.out_aval = {kernel_call, "_aval"};
  core.out_avals = {kernel_call, "avals"};
  core.collect = {kernel_call, "_collect"};
  core.is_plain = {kernel_call, "is_plain"};
  core.known_parts = {settings_module.attr("Config"), "known_parts"};
  core.aval_of = kept(aval_of);
  core.host_is_default = kept(host_is_default);
  core.preferred_engines = kept(preferred_engines);
  core.ignore_errors = kept(ignore_errors);
  core.restore_errors = kept(restore_errors);
  core.shardings = kept(shardings.attr("__dict__"));
  core.home = PyUnicode_InternFromString("home");
  context.install(settings_module, current_trace, current_trace.attr("trace").type());
}

bool allow_short_ways(const nb::object& settings) {
  if (!settings.is_valid() || PyList_GET_SIZE(core.preferred_engines) != 0) return false;
  if (context.debugs_execution(settings)) return false;
  return call(core.host_is_default, settings).is(Py_True);
}

nb::object new_array(PyObject* aval, nb::object host) {
  PyObject* home = PyDict_GetItemWithError(core.shardings, core.home);
  if (home == nullptr) throw nb::python_error();
  nb::object array = new_instance(core.array);
  core.aval.fill(array.ptr(), nb::borrow(aval));
  core.host.fill(array.ptr(), std::move(host));
  core.buffer.fill(array.ptr(), nb::none());
  core.place.fill(array.ptr(), nb::borrow(home));
  core.committed.fill(array.ptr(), boolean(false));
  return array;
}

}  // namespace morphax::eager
