#include "calls_machine.h"

#include <algorithm>

#include "machine_functions.h"

namespace morphax::calls {

namespace {

using machine_functions::Declared;
using machine_functions::MachineFunction;

// The memory of an array, read by jaxlib's buffer only if there is no other.
nb::object host_of(PyObject* array) {
  PyObject* host = core.host(array);
  return host == Py_None ? call_method(array, "to_host") : nb::borrow(host);
}

// The operand in memory of its own, held until the call is over.
nb::object operand_of(PyObject* leaf, const Declared& declared) {
  if (is_array(leaf)) return machine_functions::in_order(host_of(leaf), declared);
  return machine_functions::converted(leaf, declared);
}

// Whether NumPy reads all operands as Python does; it knows nothing of tracers, for one.
bool can_convert(const References& leaves) {
  return std::all_of(leaves.data(), leaves.data() + leaves.size(), [](PyObject* leaf) {
    return is_array(leaf) || machine_functions::is_plain(leaf);
  });
}

bool is_donated_twice(const Plan& plan, const References& leaves) {
  for (const std::size_t i : plan.donated) {
    if (!is_array(leaves[i])) return true;
    if (std::count(leaves.data(), leaves.data() + leaves.size(), leaves[i]) > 1) return true;
  }
  return false;
}

void compute(const Plan& plan, const References& leaves, References& results) {
  const MachineFunction& function = *plan.machine_function;
  References held;
  std::vector<const void*> places;
  places.reserve(function.operands().size());
  for (std::size_t i = 0; i < function.operands().size(); ++i) {
    PyObject* leaf = leaves[plan.takes_all ? i : plan.kept[i]];
    held.push(operand_of(leaf, function.operands()[i]));
    places.push_back(machine_functions::elements(held[i]));
  }
  if (!function.may_take_long()) return function.call(places.data(), results);
  // Ctrl-C leaves a long run, which takes another thread.
  const nb::object arrays = call(plan.execute, held.into_list());
  for (Py_ssize_t i = 0; i < length(arrays.ptr()); ++i) results.push(item(arrays.ptr(), i));
}

void give_up_operands(const Plan& plan, const References& leaves) {
  if (plan.donated.empty()) return;
  const nb::object gone = call(plan.gone);
  for (const std::size_t i : plan.donated) give_up_one(leaves[i], gone);
}

}  // namespace

nb::object run_machine(const Plan& plan, const Signature& signature, bool committed) {
  const References& leaves = signature.leaves;
  if (!can_convert(leaves) || is_donated_twice(plan, leaves)) return {};
  References hosts, results;
  try {
    compute(plan, leaves, hosts);
  } catch (const nb::python_error& error) {
    if (error.matches(PyExc_MemoryError)) call(plan.fail, error.value());
    throw;
  }
  give_up_operands(plan, leaves);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto position = static_cast<Py_ssize_t>(i);
    results.push(new_array(item(plan.out_avals.ptr(), position), hosts[i], Py_None,
                           item(plan.result_places.ptr(), position), committed));
  }
  return tree::unflatten(plan.out_tree.ptr(), results.data());
}

}  // namespace morphax::calls
