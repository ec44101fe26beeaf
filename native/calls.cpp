#include "calls.h"

#include "calls_arguments.h"
#include "calls_context.h"
#include "calls_program.h"

namespace morphax::calls {

Core core;

namespace {

Context context;

// The operands as arrays; numbers go straight to the device.
References as_arrays(Signature& signature, const Plan& plan) {
  if (signature.other_avals.size() == 0) return std::move(signature.leaves);
  References arrays;
  std::size_t other = 0;
  for (std::size_t i = 0; i < signature.leaves.size(); ++i) {
    PyObject* leaf = signature.leaves[i];
    if (is_array(leaf)) {
      arrays.push(leaf);
    } else {
      arrays.push(call(core.put, leaf, signature.other_avals[other++], plan.device));
    }
  }
  return arrays;
}

enum class Commitment { kNone, kHere, kElsewhere };

Commitment commitment(const References& arrays, PyObject* device) {
  Commitment result = Commitment::kNone;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (core.committed(arrays[i]) != Py_True) continue;
    if (core.device(arrays[i]) != device) return Commitment::kElsewhere;
    result = Commitment::kHere;
  }
  return result;
}

nb::object buffer_on(PyObject* array, PyObject* device) {
  PyObject* buffer = core.buffer(array);
  if (core.device(array) == device && buffer != Py_None) return nb::borrow(buffer);
  return call_method(array, "on_device", device);
}

nb::object buffers_of(const References& arrays, const Plan& plan) {
  const std::size_t taken = plan.takes_all ? arrays.size() : plan.kept.size();
  const auto constants = static_cast<std::size_t>(length(plan.constants.ptr()));
  nb::object buffers = checked(PyList_New(static_cast<Py_ssize_t>(taken + constants)));
  for (std::size_t i = 0; i < taken; ++i) {
    PyObject* array = arrays[plan.takes_all ? i : plan.kept[i]];
    PyList_SET_ITEM(buffers.ptr(), i, buffer_on(array, plan.device.ptr()).release().ptr());
  }
  for (std::size_t i = 0; i < constants; ++i) {
    PyObject* constant = item(plan.constants.ptr(), static_cast<Py_ssize_t>(i));
    Py_INCREF(constant);
    PyList_SET_ITEM(buffers.ptr(), taken + i, constant);
  }
  return buffers;
}

nb::object method_call(PyObject* name, PyObject* self, PyObject* argument) {
  PyObject* const arguments[] = {self, argument};
  return checked(PyObject_VectorcallMethod(name, arguments, 2, nullptr));
}

nb::object execute(const Plan& plan, const References& arrays) {
  const nb::object buffers = buffers_of(arrays, plan);
  if (!plan.execute.is_none()) return call(plan.execute, buffers);
  try {
    const nb::object execution = method_call(core.execute, plan.loaded.ptr(), buffers.ptr());
    return method_call(core.consume, execution.ptr(), plan.handlers.ptr());
  } catch (const nb::python_error& error) {
    // Python raises its own error in place of jaxlib's, which is a RuntimeError.
    if (error.matches(PyExc_RuntimeError)) call(plan.fail, error.value());
    throw;
  }
}

nb::object new_array(PyObject* aval, PyObject* buffer, PyObject* device, bool committed) {
  nb::object array = new_instance(core.array);
  core.aval.fill(array.ptr(), nb::borrow(aval));
  core.host.fill(array.ptr(), nb::none());
  core.buffer.fill(array.ptr(), nb::borrow(buffer));
  core.device.fill(array.ptr(), nb::borrow(device));
  core.committed.fill(array.ptr(), boolean(committed));
  return array;
}

nb::object results_of(const Plan& plan, nb::object buffers, References& arrays, bool committed) {
  if (!plan.finish.is_none()) {
    const nb::object operands = arrays.into_list();
    const nb::object results = call(plan.finish, buffers, operands, boolean(committed));
    return tree::unflatten(plan.out_tree.ptr(), PySequence_Fast_ITEMS(results.ptr()));
  }
  References results;
  for (Py_ssize_t i = 0; i < length(plan.out_avals.ptr()); ++i) {
    results.push(new_array(item(plan.out_avals.ptr(), i), item(buffers.ptr(), i), plan.device.ptr(),
                           committed));
  }
  return tree::unflatten(plan.out_tree.ptr(), results.data());
}

// Whether operands can be given away as they are: each has a buffer, of its own, and stands once.
bool can_donate(const References& arrays, const Plan& plan) {
  for (const std::size_t i : plan.donated) {
    PyObject* buffer = core.buffer(arrays[i]);
    if (buffer == Py_None || PyObject_HasAttr(buffer, core.is_shared)) return false;
  }
  std::vector<PyObject*> sorted(arrays.data(), arrays.data() + arrays.size());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1] == sorted[i]) return false;
  }
  return true;
}

// Marks the operands whose memory XLA took as deleted.
void give_up(const References& arrays, const Plan& plan) {
  const nb::object gone = call(plan.gone);
  for (const std::size_t i : plan.donated) {
    PyObject* const self[] = {core.buffer(arrays[i])};
    if (!checked(PyObject_VectorcallMethod(core.is_deleted, self, 1, nullptr)).is(Py_True))
      continue;
    core.device.fill(arrays[i], gone);
    core.host.fill(arrays[i], nb::none());
    core.buffer.fill(arrays[i], nb::none());
    core.committed.fill(arrays[i], boolean(false));
  }
}

// Calls the program through Python.
nb::object apply(const Program& program, References& leaves) {
  const nb::object list = leaves.into_list();
  return call_method(program.traced, "apply", list);
}

nb::object run(Program& program, Signature& signature) {
  const Plan* plan = program.plan();
  if (plan == nullptr) return apply(program, signature.leaves);
  References arrays = as_arrays(signature, *plan);
  bool committed = plan->committed;
  if (!committed) {
    const Commitment found = commitment(arrays, plan->device.ptr());
    if (found == Commitment::kElsewhere) return apply(program, arrays);
    committed = found == Commitment::kHere;
  }
  if (!plan->donated.empty()) {
    if (!can_donate(arrays, *plan)) return apply(program, arrays);
    // A NumPy view of the buffer would keep XLA from using its memory.
    for (const std::size_t i : plan->donated) core.host.fill(arrays[i], nb::none());
  }
  nb::object buffers = execute(*plan, arrays);
  if (!plan->donated.empty()) give_up(arrays, *plan);
  return results_of(*plan, std::move(buffers), arrays, committed);
}

// `JitFunction.__call__`.
PyObject* call_jitted(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    PyObject* table = core.table(self);
    Signature signature;
    signature.trace_key = context.plain_trace_key();
    if (table != nullptr && signature.trace_key != nullptr) {
      const nb::object held = nb::borrow(table);
      if (read({args, count, names}, core.statics(self), signature)) {
        if (auto program = nb::inst_ptr<CallTable>(held)->find(signature)) {
          return run(*program, signature);
        }
      }
    }
    const Py_ssize_t all = count + (names != nullptr ? length(names) : 0);
    std::vector<PyObject*> with_self(static_cast<std::size_t>(all) + 2);
    with_self[1] = self;
    std::copy(args, args + all, with_self.begin() + 2);
    return checked(PyObject_Vectorcall(
        core.twin, with_self.data() + 1,
        static_cast<std::size_t>(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names));
  });
}

PyObject* kept(nb::handle object) { return object.inc_ref().ptr(); }

void install(nb::handle jitted, nb::handle choice, nb::handle array, nb::handle aval_of,
             nb::handle put, nb::handle no_kwargs, nb::handle settings, nb::handle current_trace,
             nb::handle eager_trace) {
  core.array = reinterpret_cast<PyTypeObject*>(kept(array));
  core.aval = {array, "aval"};
  core.host = {array, "_host"};
  core.buffer = {array, "_buffer"};
  core.device = {array, "_device"};
  core.committed = {array, "_committed"};
  core.jitted = reinterpret_cast<PyTypeObject*>(kept(jitted));
  core.table = {jitted, "_calls"};
  core.statics = {jitted, "_static"};
  core.static_numbers = {choice, "numbers"};
  core.static_names = {choice, "names"};
  core.twin = kept(jitted.attr("__call__"));
  core.aval_of = kept(aval_of);
  core.put = kept(put);
  core.no_kwargs = kept(no_kwargs);
  core.execute = PyUnicode_InternFromString("execute_sharded");
  core.consume = PyUnicode_InternFromString("consume_with_handlers");
  core.is_deleted = PyUnicode_InternFromString("is_deleted");
  core.is_shared = PyUnicode_InternFromString("is_shared");
  context.install(settings, current_trace, eager_trace);
  static PyMethodDef method{
      "__call__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call_jitted)),
      METH_FASTCALL | METH_KEYWORDS, nullptr};
  jitted.attr("__call__") = checked(PyDescr_NewMethod(core.jitted, &method));
}

int traverse_table(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<CallTable>(self)->traverse(visit, arg) : 0;
}

int clear_table(PyObject* self) {
  nb::inst_ptr<CallTable>(self)->clear();
  return 0;
}

PyType_Slot table_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_table)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_table)},
    {0, nullptr},
};

}  // namespace

void bind(nb::module_& module) {
  module.def("install", &install);
  nb::class_<CallTable>(module, "CallTable", nb::type_slots(table_slots),
                        "The programs of a jitted function, by signature.")
      .def(nb::init<>())
      .def("add", &CallTable::add)
      .def("clear", &CallTable::clear)
      .def("__len__", &CallTable::size);
}

}  // namespace morphax::calls
