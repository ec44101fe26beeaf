#include "calls.h"

#include "calls_arguments.h"
#include "calls_context.h"
#include "calls_machine.h"
#include "calls_operands.h"
#include "calls_program.h"
#include "process_end.h"

namespace morphax::calls {

Core core;

nb::object new_array(PyObject* aval, PyObject* host, PyObject* buffer, PyObject* place,
                     bool committed) {
  nb::object array = new_instance(core.array);
  core.aval.fill(array.ptr(), nb::borrow(aval));
  core.host.fill(array.ptr(), nb::borrow(host));
  core.buffer.fill(array.ptr(), nb::borrow(buffer));
  core.place.fill(array.ptr(), nb::borrow(place));
  core.committed.fill(array.ptr(), boolean(committed));
  return array;
}

void give_up_one(PyObject* array, const nb::object& deletion) {
  core.deletion.fill(array, deletion);
  core.host.fill(array, nb::none());
  core.buffer.fill(array, nb::none());
  core.committed.fill(array, boolean(false));
}

namespace {

Context context;

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

nb::object results_of(const Plan& plan, nb::object buffers, References& arrays, bool committed) {
  if (!plan.finish.is_none()) {
    const nb::object operands = arrays.into_list();
    const nb::object results = call(plan.finish, buffers, operands, boolean(committed));
    return tree::unflatten(plan.out_tree.ptr(), PySequence_Fast_ITEMS(results.ptr()));
  }
  References results;
  for (Py_ssize_t i = 0; i < length(plan.out_avals.ptr()); ++i) {
    results.push(new_array(item(plan.out_avals.ptr(), i), Py_None, item(buffers.ptr(), i),
                           item(plan.result_places.ptr(), i), committed));
  }
  return tree::unflatten(plan.out_tree.ptr(), results.data());
}

// Calls the program through Python.
nb::object apply(const Program& program, References& leaves) {
  const nb::object list = leaves.into_list();
  return call_method(program.traced, "apply", list);
}

// Chooses the plan of a call; `committed` says whether its results are.
PlanPointer choose(Program& program, const Signature& signature, bool& committed) {
  PlanPointer plan = program.plan();
  if (plan) {
    const Commitment found =
        plan->committed ? Commitment::kHere : commitment(signature.leaves, *plan);
    committed = found == Commitment::kHere;
    if (found != Commitment::kElsewhere) return plan;
  }
  plan = program.plan_bound_by(signature.leaves);
  committed = plan && plan->committed;
  // Python gives its type to a number that becomes a result somewhere else.
  const bool passes_numbers_on = plan && !plan->finish.is_none() && !signature.other_avals.empty();
  return passes_numbers_on ? nullptr : plan;
}

nb::object run(Program& program, Signature& signature) {
  bool committed = false;
  const PlanPointer plan = choose(program, signature, committed);
  if (!plan) return apply(program, signature.leaves);
  if (plan->machine_function != nullptr) {
    nb::object results = run_machine(*plan, signature, committed);
    return results.is_valid() ? results : apply(program, signature.leaves);
  }
  References arrays = as_arrays(signature, *plan);
  if (!plan->donated.empty()) {
    if (!can_donate(arrays, *plan)) return apply(program, arrays);
    // A NumPy view of the buffer would keep XLA from using its memory.
    for (const std::size_t i : plan->donated) core.host.fill(arrays[i], nb::none());
  }
  nb::object buffers = execute(*plan, arrays);
  if (!plan->donated.empty()) give_up(arrays, *plan);
  return results_of(*plan, std::move(buffers), arrays, committed);
}

// The result of a call whose signature the table knows; invalid if Python is to see to the call.
nb::object call_known(PyObject* table, PyObject* trace_key, PyObject* statics,
                      const Arguments& arguments) {
  if (table == nullptr || trace_key == nullptr) return {};
  const nb::object held = nb::borrow(table);
  Signature signature;
  signature.trace_key = trace_key;
  if (!read(arguments, statics, signature)) return {};
  const auto program = nb::inst_ptr<CallTable>(held)->find(signature);
  return program ? run(*program, signature) : nb::object();
}

nb::object call_twin(PyObject* twin, PyObject* self, const Arguments& arguments) {
  const Py_ssize_t named = arguments.names != nullptr ? length(arguments.names) : 0;
  const Py_ssize_t all = arguments.count + named;
  std::vector<PyObject*> with_self(static_cast<std::size_t>(all) + 2);
  with_self[1] = self;
  std::copy(arguments.values, arguments.values + all, with_self.begin() + 2);
  return checked(PyObject_Vectorcall(
      twin, with_self.data() + 1,
      static_cast<std::size_t>(arguments.count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET,
      arguments.names));
}

// `PjitFunction.__call__`.
PyObject* call_jitted(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const process_end::Call under_way;
    const Arguments arguments{args, count, names};
    nb::object result = call_known(core.jitted.table(self), context.plain_trace_key(),
                                   core.statics(self), arguments);
    return result.is_valid() ? result : call_twin(core.jitted.twin, self, arguments);
  });
}

// `Compiled.__call__`: its programs are the same under all options for tracing.
PyObject* call_compiled(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&] {
    const process_end::Call under_way;
    const Arguments arguments{args, count, names};
    PyObject* any_key = context.plain_trace_key() != nullptr ? Py_None : nullptr;
    nb::object result = call_known(core.compiled.table(self), any_key, Py_None, arguments);
    return result.is_valid() ? result : call_twin(core.compiled.twin, self, arguments);
  });
}

using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

PyMethodDef call_method_of(Function function) {
  return {"__call__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL | METH_KEYWORDS, nullptr};
}

// What the slot of a class calls: the function itself, where Python would look for the method and
// take one level more of its stack, which functions within functions have few of.
template <Function function>
PyObject* call_by_slot(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* const* values = PySequence_Fast_ITEMS(args);
  const Py_ssize_t count = length(args);
  if (kwargs == nullptr || PyDict_GET_SIZE(kwargs) == 0) {
    return function(self, values, count, nullptr);
  }
  return guarded([&] {
    const nb::object names = checked(PyTuple_New(PyDict_GET_SIZE(kwargs)));
    References all;
    for (Py_ssize_t i = 0; i < count; ++i) all.push(values[i]);
    PyObject *name = nullptr, *value = nullptr;
    for (Py_ssize_t i = 0, at = 0; PyDict_Next(kwargs, &at, &name, &value); ++i) {
      if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "keywords must be strings");
        throw nb::python_error();
      }
      PyTuple_SET_ITEM(names.ptr(), i, Py_NewRef(name));
      all.push(value);
    }
    return checked(function(self, all.data(), count, names.ptr()));
  });
}

// Takes the place of the method `__call__` of a class.
template <Function function>
Callable replace(nb::handle cls) {
  static PyMethodDef method = call_method_of(function);
  Callable replaced{{cls, "_calls"}, kept(cls.attr("__call__"))};
  auto* type = kept_type(cls);
  cls.attr("__call__") = checked(PyDescr_NewMethod(type, &method));
  type->tp_call = &call_by_slot<function>;
  return replaced;
}

void install(nb::handle jitted, nb::handle compiled, nb::handle choice, nb::handle array,
             nb::handle aval_of, nb::handle put, nb::handle no_kwargs, nb::handle settings,
             nb::handle current_trace, nb::handle eager_trace) {
  core.array = kept_type(array);
  core.aval = {array, "aval"};
  core.host = {array, "_host"};
  core.buffer = {array, "_buffer"};
  core.place = {array, "place"};
  core.deletion = {array, "_deletion"};
  core.committed = {array, "_committed"};
  core.statics = {jitted, "_static"};
  core.static_numbers = {choice, "numbers"};
  core.static_names = {choice, "names"};
  core.aval_of = kept(aval_of);
  core.put = kept(put);
  core.no_kwargs = kept(no_kwargs);
  core.execute = PyUnicode_InternFromString("execute_sharded");
  core.consume = PyUnicode_InternFromString("consume_with_handlers");
  core.is_deleted = PyUnicode_InternFromString("is_deleted");
  core.is_shared = PyUnicode_InternFromString("is_shared");
  context.install(settings, current_trace, eager_trace);
  core.jitted = replace<&call_jitted>(jitted);
  core.compiled = replace<&call_compiled>(compiled);
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
  module.def("clear_numbers", &clear_numbers);
  nb::class_<CallTable>(module, "CallTable", nb::type_slots(table_slots),
                        "The programs of a jitted function, by signature.")
      .def(nb::init<>())
      .def("add", &CallTable::add, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
           nb::arg())
      .def("clear", &CallTable::clear)
      .def("__len__", &CallTable::size);
}

}  // namespace morphax::calls
