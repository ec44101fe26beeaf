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
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fused_chain.h"
#include "fused_code.h"
#include "fused_operations.h"
#include "objects.h"
#include "random.h"
#include "ufunc_loops.h"
#include "workers.h"

namespace morphax::fused {

namespace {

// Registers of few elements fit the stack.
constexpr std::size_t kOnStack = 1024;
// From here on other threads may run meanwhile.
constexpr std::size_t kMany = 1 << 14;

void run_inner(const Step& step, std::size_t size, void* const* places) {
  char* at[4];
  std::size_t i = 0;
  for (; i < step.count; ++i) at[i] = static_cast<char*>(places[step.operands[i]]);
  at[i] = static_cast<char*>(places[step.out]);
  const auto width = static_cast<npy_intp>(step.width);
  const npy_intp steps[] = {width, width, width, width};
  const auto count = static_cast<npy_intp>(size);
  step.numpys.inner(at, &count, steps, step.numpys.data);
}

}  // namespace

void run_step(const Step& step, std::size_t start, std::size_t size, void* const* places) {
  const auto& [a, b, c] = step.operands;
  if (step.numpys.inner != nullptr) {
    run_inner(step, size, places);
  } else if (step.loop != nullptr) {
    step.loop(size, places[a], places[b], places[c], places[step.out]);
  } else {
    std::uint64_t key = 0;
    std::memcpy(&key, places[a], sizeof(key));
    random::draw_words(key, start, size, static_cast<Word*>(places[step.out]));
  }
  if (step.rounds != nullptr) step.rounds(size, static_cast<Word*>(places[step.out]));
}

namespace {

// Registers, and where each of them lies for the block at hand: in an array where that is possible.
class Registers {
 public:
  explicit Registers(const Chain& chain)
      : size_(chain.block()),
        stride_(size_ * chain.words_of_element),
        slots_(chain.slots),
        places_(chain.registers) {
    if (chain.slot_count * stride_ > kOnStack) heap_.reset(new Word[chain.slot_count * stride_]);
    words_ = heap_ ? heap_.get() : stack_;
    for (std::size_t i = 0; i < chain.registers; ++i) places_[i] = own(i);
  }

  std::size_t size() const { return size_; }
  Word* own(std::size_t i) { return words_ + slots_[i] * stride_; }
  void* const* places() const { return places_.data(); }
  void place(std::size_t i, const void* where) { places_[i] = const_cast<void*>(where); }
  void fill(std::size_t i, Wide bits, bool is_wide) {
    if (is_wide) {
      std::fill_n(reinterpret_cast<Wide*>(own(i)), size_, bits);
    } else {
      std::fill_n(own(i), size_, static_cast<Word>(bits));
    }
  }

 private:
  std::size_t size_, stride_;
  const std::vector<std::size_t>& slots_;
  std::vector<void*> places_;
  std::unique_ptr<Word[]> heap_;
  Word* words_;
  alignas(64) Word stack_[kOnStack];
};

// A number of an operand as registers have it.
Wide bits_of(Kind kind, const void* data) {
  Wide wide = 0;
  Word word = 0;
  switch (kind) {
    case Kind::kWide:
      std::memcpy(&wide, data, sizeof(wide));
      return wide;
    case Kind::kBfloat16:
      words_of_bfloat16(static_cast<const Narrow*>(data), 1, &word);
      return word;
    case Kind::kFloat16:
      words_of_float16(static_cast<const Narrow*>(data), 1, &word);
      return word;
    case Kind::kBoolean:
      return *static_cast<const std::uint8_t*>(data);
    default:
      std::memcpy(&word, data, sizeof(word));
      return word;
  }
}

void load_numbers_that_stay(const Chain& chain, const Arrays& arrays, Registers& registers) {
  for (const Constant& constant : chain.constants)
    registers.fill(constant.out, constant.bits, constant.is_wide);
  for (std::size_t i = 0; i < chain.operands.size(); ++i) {
    const auto& [kind, varies] = chain.operands[i];
    if (kind == Kind::kKey) {
      registers.place(i, arrays.operands[i].data);
    } else if (!varies) {
      registers.fill(i, bits_of(kind, arrays.operands[i].data), kind == Kind::kWide);
    }
  }
  for (const Step& step : chain.once) run_step(step, 0, registers.size(), registers.places());
}

void load_spread(Kind kind, const Source& source, std::size_t start, std::size_t size, Word* out) {
  if (kind == Kind::kWide) {
    spread<Wide>(source, start, size, reinterpret_cast<Wide*>(out));
  } else if (kind == Kind::kWord) {
    spread<Word>(source, start, size, out);
  } else if (kind == Kind::kBoolean) {
    spread<std::uint8_t>(source, start, size, out);
  } else {
    spread<Narrow>(source, start, size, out);
    if (kind == Kind::kFloat16) return widen_float16(size, out);
    for (std::size_t i = 0; i < size; ++i) out[i] <<= 16;
  }
}

void load_block(const Chain& chain, const Arrays& arrays, Registers& registers, std::size_t start,
                std::size_t size) {
  for (std::size_t i = 0; i < chain.operands.size(); ++i) {
    const auto& [kind, varies] = chain.operands[i];
    if (!varies) continue;
    const Source& source = arrays.operands[i];
    const std::size_t width = kind == Kind::kWide ? sizeof(Wide) : sizeof(Word);
    const std::size_t at = start % source.length;
    const bool lies_in_a_row = source.repeats == 1 && at + size <= source.length;
    if (source.length != chain.count && lies_in_a_row &&
        (kind == Kind::kWord || kind == Kind::kWide)) {
      registers.place(i, static_cast<const char*>(source.data) + at * width);
    } else if (source.length != chain.count) {
      registers.place(i, registers.own(i));
      load_spread(kind, source, start, size, registers.own(i));
    } else if (kind == Kind::kWide) {
      registers.place(i, static_cast<const Wide*>(source.data) + start);
    } else if (kind == Kind::kWord) {
      registers.place(i, static_cast<const Word*>(source.data) + start);
    } else if (kind == Kind::kBfloat16) {
      words_of_bfloat16(static_cast<const Narrow*>(source.data) + start, size, registers.own(i));
    } else if (kind == Kind::kFloat16) {
      words_of_float16(static_cast<const Narrow*>(source.data) + start, size, registers.own(i));
    } else {
      const auto* flags = static_cast<const std::uint8_t*>(source.data) + start;
      words_of_flags(flags, size, registers.own(i));
    }
  }
  for (std::size_t i = 0; i < chain.results.size(); ++i) {
    const auto& [of, kind, dtype] = chain.results[i];
    if (kind == Kind::kWord) {
      registers.place(of, static_cast<Word*>(arrays.results[i]) + start);
    } else if (kind == Kind::kWide) {
      registers.place(of, static_cast<Wide*>(arrays.results[i]) + start);
    }
  }
}

// What results have in other forms than registers.
void store_block(const Chain& chain, const Arrays& arrays, Registers& registers, std::size_t start,
                 std::size_t size) {
  for (std::size_t i = 0; i < chain.results.size(); ++i) {
    const auto& [of, kind, dtype] = chain.results[i];
    const Word* words = registers.own(of);
    if (kind == Kind::kBoolean) {
      flags_of_words(words, size, static_cast<std::uint8_t*>(arrays.results[i]) + start);
    } else if (kind == Kind::kBfloat16) {
      bfloat16_of_words(words, size, static_cast<Narrow*>(arrays.results[i]) + start);
    } else if (kind == Kind::kFloat16) {
      float16_of_words(words, size, static_cast<Narrow*>(arrays.results[i]) + start);
    }
  }
}

// Elements `begin` to `end`; `begin` is a multiple of `kBlock`, and so of blocks.
void run_steps(const Chain& chain, const Arrays& arrays, std::size_t begin, std::size_t end) {
  Registers registers(chain);
  load_numbers_that_stay(chain, arrays, registers);
  for (std::size_t start = begin; start < end; start += chain.block()) {
    const std::size_t size = std::min(chain.block(), end - start);
    load_block(chain, arrays, registers, start, size);
    for (const Step& step : chain.steps) run_step(step, start, size, registers.places());
    store_block(chain, arrays, registers, start, size);
  }
}

// The same, as far as there is code for them.
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
    const nb::gil_scoped_release others_run;
    in_parts(static_cast<std::int64_t>(chain.count), [&](std::int64_t begin, std::int64_t end) {
      run(chain, code, arrays, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    chain.purchase.spent(taken.count());
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

// The kind of a dtype by its number in NumPy.
Kind kind_of(int dtype) {
  if (dtype == NPY_UINT64) return Kind::kKey;
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

bool reads(const Step& step, std::size_t of) {
  return std::find(step.operands, step.operands + step.count, of) != step.operands + step.count;
}

bool is_result(const Chain& chain, std::size_t of) {
  return std::any_of(chain.results.begin(), chain.results.end(),
                     [of](const Result& one) { return one.of == of; });
}

// Steps of numbers that stay are done once for all blocks.  Functions of NumPy are not: the numbers
// that do not fill a vector may be computed by other instructions.
void find_numbers_that_stay(Chain& chain) {
  std::vector<bool> stays(chain.registers, false);
  for (std::size_t i = 0; i < chain.operands.size(); ++i)
    stays[i] = !chain.operands[i].varies && chain.operands[i].kind != Kind::kKey;
  for (const Constant& constant : chain.constants) stays[constant.out] = true;
  std::vector<Step> left;
  for (const Step& step : chain.steps) {
    const bool is_done_once = step.loop != nullptr && !is_result(chain, step.out) &&
                              std::all_of(step.operands, step.operands + step.count,
                                          [&](std::size_t of) { return stays[of]; });
    stays[step.out] = is_done_once;
    (is_done_once ? chain.once : left).push_back(step);
  }
  chain.steps = std::move(left);
}

// A sum whose first term is a product that nobody else reads is one step, with both roundings.
void join_products(Chain& chain) {
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    Step& sum = chain.steps[i];
    const auto product =
        std::find_if(chain.steps.begin(), chain.steps.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const Step& step) { return step.out == sum.operands[0]; });
    if (product == chain.steps.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const Loop joined = sum.rounds != nullptr || product->rounds != nullptr
                            ? nullptr
                            : product_with_sum(product->loop, sum.loop);
    const auto readers = std::count_if(chain.steps.begin(), chain.steps.end(),
                                       [&](const Step& one) { return reads(one, product->out); });
    if (joined == nullptr || readers > 1 || sum.operands[1] == product->out ||
        is_result(chain, product->out))
      continue;
    sum.loop = joined;
    sum.operands[2] = sum.operands[1];
    std::copy_n(product->operands, 2, sum.operands);
    sum.count = 3;
    chain.steps.erase(product);
    --i;
  }
}

// Gives registers their memory, and again where nobody reads what lies there any more.
void lay_out(Chain& chain) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last(chain.registers, kNone), free;
  // What steps of each block do not write is there for all of them.
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    for (std::size_t j = 0; j < chain.steps[i].count; ++j) last[chain.steps[i].operands[j]] = i;
  }
  chain.slots.assign(chain.registers, kNone);
  const std::size_t stay = chain.operands.size() + chain.constants.size();
  for (std::size_t i = 0; i < stay; ++i) chain.slots[i] = chain.slot_count++;
  for (const Step& step : chain.once) chain.slots[step.out] = chain.slot_count++;
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const Step& step = chain.steps[i];
    if (free.empty()) free.push_back(chain.slot_count++);
    chain.slots[step.out] = free.back();
    free.pop_back();
    const auto leave = [&](std::size_t of) {
      const bool is_step = std::any_of(chain.steps.begin(), chain.steps.end(),
                                       [of](const Step& one) { return one.out == of; });
      if (is_step && !is_result(chain, of) && last[of] != kNone) {
        free.push_back(chain.slots[of]);
        last[of] = kNone;
      }
    };
    for (std::size_t j = 0; j < step.count; ++j) {
      if (last[step.operands[j]] == i) leave(step.operands[j]);
    }
  }
  // What was joined has no memory of its own.
  std::replace(chain.slots.begin(), chain.slots.end(), kNone, std::size_t{0});
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
  find_numbers_that_stay(*chain);
  join_products(*chain);
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
