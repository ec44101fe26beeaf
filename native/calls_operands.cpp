#include "calls_operands.h"

#include <algorithm>

#include "calls_arguments.h"
#include "calls_numbers.h"

namespace morphax::calls {

namespace {

// Never destroyed: the interpreter may be gone by then.
Numbers& numbers = *new Numbers();

PyObject* place_of(const Plan& plan, std::size_t operand) {
  return item(plan.operand_places.ptr(), static_cast<Py_ssize_t>(operand));
}

nb::object buffer_at(PyObject* array, PyObject* place) {
  PyObject* buffer = core.buffer(array);
  if (core.place(array) == place && buffer != Py_None) return nb::borrow(buffer);
  return call_method(array, "buffer_at", place);
}

}  // namespace

References as_arrays(Signature& signature, const Plan& plan) {
  if (signature.other_avals.size() == 0) return std::move(signature.leaves);
  References arrays;
  std::size_t other = 0;
  for (std::size_t i = 0; i < signature.leaves.size(); ++i) {
    PyObject* leaf = signature.leaves[i];
    if (is_array(leaf)) {
      arrays.push(leaf);
    } else {
      arrays.push(numbers.array_of(leaf, signature.other_avals[other++], place_of(plan, i)));
    }
  }
  return arrays;
}

Commitment commitment(const References& leaves, const Plan& plan) {
  bool here = false, elsewhere = false;
  const auto see = [&](std::size_t i) {
    if (!is_array(leaves[i]) || core.committed(leaves[i]) != Py_True) return;
    if (core.place(leaves[i]) == place_of(plan, i)) {
      here = true;
    } else {
      elsewhere = true;
    }
  };
  if (plan.takes_all) {
    for (std::size_t i = 0; i < leaves.size(); ++i) see(i);
  } else {
    for (const std::size_t i : plan.binding) see(i);
  }
  if (elsewhere) return Commitment::kElsewhere;
  return here ? Commitment::kHere : Commitment::kNone;
}

nb::object buffers_of(const References& arrays, const Plan& plan) {
  const std::size_t taken = plan.takes_all ? arrays.size() : plan.kept.size();
  const auto constants = static_cast<std::size_t>(length(plan.constants.ptr()));
  nb::object buffers = checked(PyList_New(static_cast<Py_ssize_t>(taken + constants)));
  for (std::size_t i = 0; i < taken; ++i) {
    const std::size_t operand = plan.takes_all ? i : plan.kept[i];
    nb::object buffer = buffer_at(arrays[operand], place_of(plan, operand));
    PyList_SET_ITEM(buffers.ptr(), i, buffer.release().ptr());
  }
  for (std::size_t i = 0; i < constants; ++i) {
    PyObject* constant = item(plan.constants.ptr(), static_cast<Py_ssize_t>(i));
    Py_INCREF(constant);
    PyList_SET_ITEM(buffers.ptr(), taken + i, constant);
  }
  return buffers;
}

bool can_donate(const References& arrays, const Plan& plan) {
  for (const std::size_t i : plan.donated) {
    PyObject* buffer = core.buffer(arrays[i]);
    if (buffer == Py_None || has_attribute(buffer, core.is_shared)) return false;
  }
  std::vector<PyObject*> sorted(arrays.data(), arrays.data() + arrays.size());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

void give_up(const References& arrays, const Plan& plan) {
  const nb::object gone = call(plan.gone);
  for (const std::size_t i : plan.donated) {
    PyObject* const self[] = {core.buffer(arrays[i])};
    if (!checked(PyObject_VectorcallMethod(core.is_deleted, self, 1, nullptr)).is(Py_True))
      continue;
    give_up_one(arrays[i], gone);
  }
}

void clear_numbers() { numbers.clear(); }

}  // namespace morphax::calls
