// Chains of operations on words of 32 bits, element by element, as one call.
//
// What NumPy computes operation by operation, with an array for each result, is computed here block
// by block, in registers of `kBlock` words.  `morphax/engines/reference/fusion.py` finds chains in
// programs.  The arrays that come in have the dtypes that it was told; only their layout is looked
// at.
#include "fused.h"

#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fused_operations.h"
#include "objects.h"
#include "random.h"
#include "ufunc_loops.h"
#include "workers.h"

namespace morphax::fused {

namespace {

using Word = std::uint32_t;

constexpr std::size_t kBlock = 512;
// Registers of few elements fit the stack.
constexpr std::size_t kOnStack = 1024;
// From here on other threads may run meanwhile.
constexpr std::size_t kMany = 1 << 14;

enum class Kind { kWord, kBoolean, kKey };

// An operand: registers 0, 1, … in turn.  One that does not vary is a single element.
struct Operand {
  Kind kind;
  bool varies;
};

// Writes the register `out`; the ones it reads come before.
struct Step {
  Loop loop = nullptr;
  UfuncLoop numpys;
  std::size_t operands[3] = {0, 0, 0};
  std::size_t count = 0;  // of operands
  std::size_t out = 0;
};

struct Constant {
  std::size_t out;
  Word bits;
};

struct Result {
  std::size_t of;
  Kind kind;
  int dtype;
};

struct Chain {
  std::vector<Operand> operands;
  std::vector<Constant> constants;
  std::vector<Step> steps;
  std::vector<Result> results;
  std::vector<npy_intp> shape;
  std::size_t registers = 0;
  std::size_t count = 1;
};

// Where the elements of an operand are: element i of the result meets number
// i / repeats % length of its memory.
struct Source {
  const void* data = nullptr;
  std::size_t repeats = 1, length = 1;
};

// The arrays of one call.
struct Arrays {
  std::vector<nb::object> held;
  std::vector<Source> operands;
  std::vector<void*> results;
};

// Registers, and where each of them lies for the block at hand: in an array where that is possible.
class Registers {
 public:
  Registers(std::size_t registers, std::size_t stride) : stride_(stride), places_(registers) {
    if (registers * stride > kOnStack) heap_.reset(new Word[registers * stride]);
    words_ = heap_ ? heap_.get() : stack_;
    for (std::size_t i = 0; i < registers; ++i) places_[i] = own(i);
  }

  Word* own(std::size_t i) { return words_ + i * stride_; }
  void* at(std::size_t i) const { return places_[i]; }
  void place(std::size_t i, const void* where) { places_[i] = const_cast<void*>(where); }
  void fill(std::size_t i, Word bits) { std::fill_n(own(i), stride_, bits); }

 private:
  std::size_t stride_;
  std::vector<void*> places_;
  std::unique_ptr<Word[]> heap_;
  Word* words_;
  alignas(64) Word stack_[kOnStack];
};

void load_numbers_that_stay(const Chain& chain, const Arrays& arrays, Registers& registers) {
  for (const Constant& constant : chain.constants) registers.fill(constant.out, constant.bits);
  for (std::size_t i = 0; i < chain.operands.size(); ++i) {
    const Operand& operand = chain.operands[i];
    if (operand.kind == Kind::kKey) {
      registers.place(i, arrays.operands[i].data);
    } else if (!operand.varies) {
      Word bits = 0;
      std::memcpy(&bits, arrays.operands[i].data, operand.kind == Kind::kWord ? sizeof(Word) : 1);
      registers.fill(i, bits);
    }
  }
}

// Numbers `start` … of an operand whose memory has fewer than the result.
template <typename T>
void spread(const Source& source, std::size_t start, std::size_t size, Word* out) {
  const auto* numbers = static_cast<const T*>(source.data);
  std::size_t at = start / source.repeats % source.length, past = start % source.repeats;
  if (source.repeats == 1) {
    for (std::size_t done = 0; done < size; at = 0) {
      const std::size_t run = std::min(size - done, source.length - at);
      std::copy_n(numbers + at, run, out + done);
      done += run;
    }
    return;
  }
  for (std::size_t done = 0; done < size; past = 0) {
    const std::size_t run = std::min(size - done, source.repeats - past);
    std::fill_n(out + done, run, static_cast<Word>(numbers[at]));
    done += run;
    at = at + 1 == source.length ? 0 : at + 1;
  }
}

void load_block(const Chain& chain, const Arrays& arrays, Registers& registers, std::size_t start,
                std::size_t size) {
  for (std::size_t i = 0; i < chain.operands.size(); ++i) {
    const Operand& operand = chain.operands[i];
    if (!operand.varies) continue;
    const Source& source = arrays.operands[i];
    if (source.length != chain.count) {
      operand.kind == Kind::kWord ? spread<Word>(source, start, size, registers.own(i))
                                  : spread<std::uint8_t>(source, start, size, registers.own(i));
    } else if (operand.kind == Kind::kWord) {
      registers.place(i, static_cast<const Word*>(source.data) + start);
    } else {
      const auto* flags = static_cast<const std::uint8_t*>(source.data) + start;
      words_of_flags(flags, size, registers.own(i));
    }
  }
  for (std::size_t i = 0; i < chain.results.size(); ++i) {
    if (chain.results[i].kind == Kind::kWord)
      registers.place(chain.results[i].of, static_cast<Word*>(arrays.results[i]) + start);
  }
}

void run_inner(const Step& step, std::size_t size, const Registers& registers) {
  char* at[4];
  std::size_t i = 0;
  for (; i < step.count; ++i) at[i] = static_cast<char*>(registers.at(step.operands[i]));
  at[i] = static_cast<char*>(registers.at(step.out));
  const npy_intp steps[] = {sizeof(Word), sizeof(Word), sizeof(Word), sizeof(Word)};
  const auto count = static_cast<npy_intp>(size);
  step.numpys.inner(at, &count, steps, step.numpys.data);
}

// Elements `begin` to `end`; `begin` is a multiple of `kBlock`.
void run(const Chain& chain, const Arrays& arrays, std::size_t begin, std::size_t end) {
  Registers registers(chain.registers, std::min(chain.count, kBlock));
  load_numbers_that_stay(chain, arrays, registers);
  for (std::size_t start = begin; start < end; start += kBlock) {
    const std::size_t size = std::min(kBlock, end - start);
    load_block(chain, arrays, registers, start, size);
    for (const Step& step : chain.steps) {
      const auto& [a, b, c] = step.operands;
      if (step.numpys.inner != nullptr) {
        run_inner(step, size, registers);
      } else if (step.loop != nullptr) {
        step.loop(size, registers.at(a), registers.at(b), registers.at(c), registers.at(step.out));
      } else {
        std::uint64_t key = 0;
        std::memcpy(&key, registers.at(a), sizeof(key));
        random::draw_words(key, start, size, static_cast<Word*>(registers.at(step.out)));
      }
    }
    for (std::size_t i = 0; i < chain.results.size(); ++i) {
      if (chain.results[i].kind != Kind::kBoolean) continue;
      const Word* words = registers.own(chain.results[i].of);
      flags_of_words(words, size, static_cast<std::uint8_t*>(arrays.results[i]) + start);
    }
  }
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

nb::object call_chain(const Chain& chain, PyObject* const* operands, std::size_t count) {
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
    run(chain, arrays, 0, chain.count);
  } else {
    const nb::gil_scoped_release others_run;
    in_parts(static_cast<std::int64_t>(chain.count), [&](std::int64_t begin, std::int64_t end) {
      run(chain, arrays, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    });
  }
  return results.size() == 1 ? results.pop() : tuple_of(results.data(), results.size());
}

constexpr const char* kCapsule = "morphax.chain";

PyObject* call_capsule(PyObject* capsule, PyObject* const* operands, Py_ssize_t count) {
  return guarded([&] {
    const auto* chain = static_cast<const Chain*>(PyCapsule_GetPointer(capsule, kCapsule));
    return call_chain(*chain, operands, static_cast<std::size_t>(count));
  });
}

PyMethodDef chain_method = {
    "chain", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_capsule)),
    METH_FASTCALL, nullptr};

// The kind of a dtype by its number in NumPy.
Kind kind_of(int dtype) {
  if (dtype == NPY_UINT64) return Kind::kKey;
  return dtype == NPY_BOOL ? Kind::kBoolean : Kind::kWord;
}

// The name of an operation of ours or a function of NumPy, and the registers that it reads.
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
  if (!nb::isinstance<nb::str>(function)) {
    step.numpys = ufunc_loop_of_floats(function, step.count);
    return step;
  }
  const Operation* operation = find(nb::cast<std::string_view>(function));
  if (operation == nullptr) throw nb::value_error("an operation that cannot be in a chain");
  step.loop = operation->loop;
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
  for (nb::handle bits : constants)
    chain->constants.push_back({chain->registers++, nb::cast<Word>(bits)});
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
  module.attr("operations") = operations();
}

}  // namespace morphax::fused
