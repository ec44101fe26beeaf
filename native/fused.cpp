// Chains of operations on words of 32 or 64 bits, element by element, as one call.
//
// What NumPy computes operation by operation, with an array for each result, is computed here block
// by block, in registers of `kBlock` elements; who reads no more of a register leaves its memory to
// others, so that most fit the nearest cache.  `morphax/engines/reference/fusion.py` finds chains
// in programs.  The arrays that come in have the dtypes that it was told; only their layout is
// looked at.
//
// Numbers of bfloat16 and float16 are words of float32 in registers, rounded after each operation.
#include "fused.h"

#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fused_chain.h"
#include "fused_code.h"
#include "fused_operations.h"
#include "objects.h"
#include "process_end.h"
#include "ufunc_loops.h"
#include "workers.h"

namespace morphax::fused {

namespace {

// From here on other threads may run meanwhile.
constexpr std::size_t kMany = 1 << 14;

// Elements `begin` to `end`, by code as far as there is some.
void run(const Chain& chain, const Code* code, const Arrays& arrays, std::size_t begin,
         std::size_t end) {
  const std::size_t whole = code == nullptr ? 0 : (end - begin) / kBlockOfCode * kBlockOfCode;
  if (whole > 0) code->run(chain, arrays, begin, begin + whole);
  if (begin + whole < end) run_steps(chain, arrays, begin + whole, end);
}

[[noreturn]] void refuse(PyObject* error, const char* reason) {
  PyErr_SetString(error, reason);
  throw nb::python_error();
}

// Where the numbers of an array lie, if they lie in a row, repeated along axes in front or behind.
bool in_a_row(PyArrayObject* array, Source& source) {
  if (!PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) return false;
  npy_intp distance = PyArray_ITEMSIZE(array);
  source = {PyArray_DATA(array), 1, 1};
  bool is_behind = true, is_in_front = false;
  for (int axis = PyArray_NDIM(array); axis-- > 0;) {
    const npy_intp size = PyArray_DIM(array, axis), stride = PyArray_STRIDE(array, axis);
    if (size == 1) continue;
    if (stride == 0) {
      if (is_behind) source.repeats *= static_cast<std::size_t>(size);
      is_in_front = !is_behind;
    } else {
      if (stride != distance || is_in_front) return false;
      distance *= size;
      source.length *= static_cast<std::size_t>(size);
      is_behind = false;
    }
  }
  return true;
}

// An operand that may be a view, and where its numbers are.
nb::object placed(PyObject* operand, Source& source) {
  if (!PyArray_Check(operand)) refuse(PyExc_TypeError, "a chain of operations takes arrays");
  if (in_a_row(reinterpret_cast<PyArrayObject*>(operand), source)) return nb::borrow(operand);
  nb::object copy = checked(PyArray_FROM_OF(operand, NPY_ARRAY_CARRAY_RO));
  in_a_row(reinterpret_cast<PyArrayObject*>(copy.ptr()), source);
  return copy;
}

nb::object call_chain(Chain& chain, PyObject* const* operands, std::size_t count) {
  if (count != chain.operands.size())
    refuse(PyExc_TypeError, "a chain of operations on another number of operands");
  Arrays arrays;
  for (std::size_t i = 0; i < count; ++i) {
    Source source;
    nb::object array = placed(operands[i], source);
    auto* numpy = reinterpret_cast<PyArrayObject*>(array.ptr());
    const std::size_t size = chain.operands[i].varies ? chain.count : 1;
    if (static_cast<std::size_t>(PyArray_SIZE(numpy)) != size)
      refuse(PyExc_ValueError, "a chain of operations on arrays of another size");
    arrays.operands.push_back(source);
    arrays.held.push_back(std::move(array));
  }
  References results;
  for (const Result& result : chain.results) {
    results.push(
        checked(PyArray_EMPTY(static_cast<int>(chain.shape.size()),
                              const_cast<npy_intp*>(chain.shape.data()), result.dtype, 0)));
    auto* numpy = reinterpret_cast<PyArrayObject*>(results[results.size() - 1]);
    arrays.results.push_back(PyArray_DATA(numpy));
  }
  if (chain.count < kMany) {
    run_steps(chain, arrays, 0, chain.count);
  } else {
    const Code* code = chain.purchase.code(chain);
    const auto start = std::chrono::steady_clock::now();
    const bool is_long = chain.experience.is_long();
    const process_end::OthersRun others_run;
    const auto piece = [&](std::int64_t begin, std::int64_t end) {
      run(chain, code, arrays, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    };
    in_parts(static_cast<std::int64_t>(chain.count), piece, is_long);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    chain.purchase.spent(taken.count());
    if (!is_long) chain.experience.add(taken.count());
  }
  return results.size() == 1 ? results.pop() : tuple_of(results.data(), results.size());
}

constexpr const char* kCapsule = "morphax.chain";

PyObject* call_capsule(PyObject* capsule, PyObject* const* operands, Py_ssize_t count) {
  return guarded([&] {
    auto* chain = static_cast<Chain*>(PyCapsule_GetPointer(capsule, kCapsule));
    return call_chain(*chain, operands, static_cast<std::size_t>(count));
  });
}

PyMethodDef chain_method = {
    "chain", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_capsule)),
    METH_FASTCALL, nullptr};

// The kind of a dtype by its number.
Kind kind_of(int dtype) {
  if (dtype == kKeyDtype) return Kind::kKey;
  if (dtype == NPY_BOOL) return Kind::kBoolean;
  const nb::object descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(dtype)));
  const npy_intp size = PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(descr.ptr()));
  if (size == sizeof(Narrow)) return dtype == NPY_HALF ? Kind::kFloat16 : Kind::kBfloat16;
  return size == sizeof(Wide) ? Kind::kWide : Kind::kWord;
}

// The name of an operation of ours or a function of NumPy, the registers that it reads and the
// dtype of its result.
Step step_of(nb::handle given, std::size_t out) {
  Step step;
  step.out = out;
  for (nb::handle operand : given[1]) {
    if (step.count == std::size(step.operands)) throw nb::value_error("too many operands");
    step.operands[step.count++] = nb::cast<std::size_t>(operand);
    if (step.operands[step.count - 1] >= out)
      throw nb::value_error("a register that is read before written");
  }
  const nb::object function = given[0];
  step.kind = kind_of(nb::cast<int>(given[2]));
  if (!nb::isinstance<nb::str>(function)) {
    step.rounds = step.kind == Kind::kBfloat16  ? round_to_bfloat16
                  : step.kind == Kind::kFloat16 ? round_to_float16
                                                : nullptr;
    step.is_wide = step.kind == Kind::kWide;
    step.width = step.is_wide ? sizeof(Wide) : sizeof(Word);
    step.numpys = ufunc_loop_of(function, step.count, step.is_wide ? NPY_DOUBLE : NPY_FLOAT);
    return step;
  }
  const Operation* operation = find(nb::cast<std::string_view>(function));
  if (operation == nullptr) throw nb::value_error("an operation that cannot be in a chain");
  step.loop = operation->loop;
  step.rounds = operation->rounds;
  step.is_wide = operation->is_wide;
  if (static_cast<std::size_t>(operation->operands) != step.count)
    throw nb::value_error("an operation of another number of operands");
  return step;
}

// Registers are numbered in this order: operands, constants, steps.
nb::object make(nb::sequence operands, nb::sequence constants, nb::sequence steps,
                nb::sequence results, nb::sequence shape) {
  auto chain = std::make_unique<Chain>();
  for (nb::handle operand : operands) {
    chain->operands.push_back({kind_of(nb::cast<int>(operand[0])), nb::cast<bool>(operand[1])});
    ++chain->registers;
  }
  for (nb::handle constant : constants) {
    const bool is_wide = nb::cast<std::size_t>(constant[1]) == sizeof(Wide);
    chain->constants.push_back({chain->registers++, nb::cast<Wide>(constant[0]), is_wide});
  }
  for (nb::handle step : steps) {
    chain->steps.push_back(step_of(step, chain->registers));
    ++chain->registers;
  }
  for (nb::handle result : results) {
    const int dtype = nb::cast<int>(result[1]);
    const auto of = nb::cast<std::size_t>(result[0]);
    if (of >= chain->registers) throw nb::value_error("a register that nothing writes");
    chain->results.push_back({of, kind_of(dtype), dtype});
  }
  const bool is_wide = std::any_of(chain->steps.begin(), chain->steps.end(),
                                   [](const Step& step) { return step.is_wide; });
  chain->words_of_element = is_wide ? sizeof(Wide) / sizeof(Word) : 1;
  chain->given = chain->steps;
  lay_out(*chain);
  for (nb::handle size : shape) {
    chain->shape.push_back(nb::cast<npy_intp>(size));
    chain->count *= nb::cast<std::size_t>(size);
  }
  const nb::object capsule = checked(PyCapsule_New(chain.get(), kCapsule, [](PyObject* self) {
    delete static_cast<Chain*>(PyCapsule_GetPointer(self, kCapsule));
  }));
  chain.release();
  return checked(PyCFunction_New(&chain_method, capsule.ptr()));
}

// Has machine code made for a function of `make`, once its runs have taken so many seconds.
void buy_after(nb::handle function, double seconds, nb::object code) {
  if (!PyCFunction_Check(function.ptr()) ||
      PyCFunction_GetFunction(function.ptr()) != chain_method.ml_meth)
    throw nb::type_error("no chain of operations");
  PyObject* capsule = PyCFunction_GetSelf(function.ptr());
  static_cast<Chain*>(PyCapsule_GetPointer(capsule, kCapsule))
      ->purchase.after(seconds, std::move(code));
}

nb::object operations() {
  nb::object names = checked(PySet_New(nullptr));
  for_each_name(
      [](std::string_view name, void* set) {
        check_status(
            PySet_Add(static_cast<PyObject*>(set), nb::str(name.data(), name.size()).ptr()));
      },
      names.ptr());
  return checked(PyFrozenSet_New(names.ptr()));
}

bool import_numpy() { return _import_array() >= 0 && _import_umath() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  module.def("make", &make);
  module.def("buy_after", &buy_after);
  module.attr("block_of_code") = kBlockOfCode;
  module.attr("operations") = operations();
}

}  // namespace morphax::fused
