// Programs on few numbers, operation after operation, as one call.
//
// NumPy's part of an operation on ten numbers is some nanoseconds; the rest of its time goes into
// the arrays around it.  Here a run of operations on words of 32 bits works on plain memory, and
// only what comes in and goes out is an array.  `morphax/engines/reference/small_programs.py` finds
// such runs and says what the steps are.  Elementwise operations are those of chains
// (`fused_operations.cpp`) or NumPy's own inner loops, so results have the bits of single
// operations.  Booleans are the words 0 and 1 inside.
#include "small_programs.h"

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fused_operations.h"
#include "objects.h"
#include "ufunc_loops.h"

namespace morphax::small_programs {

namespace {

using Word = std::uint32_t;

// Memory for registers of few elements is on the stack.
constexpr std::size_t kOnStack = 8192;
// Registers begin at multiples of this: those of vectors.
constexpr std::size_t kAligned = 16;
// More are not reduced along an axis.
constexpr std::size_t kMostElements = 1024;

struct Step;
using Run = void (*)(const Step& step, Word* const* places);

// An element of an operand of a step.
struct Element {
  std::uint32_t operand, index;
};

// Elements of the first operand where the second says, which are taken or, if there is a third one,
// replaced by it or combined with it.
struct Windows {
  struct Place {
    std::int32_t at;       // if windows start at 0
    std::uint32_t window;  // its number
    std::uint32_t update;  // by which it is replaced
  };
  std::vector<Place> places;
  std::vector<std::int32_t> limits, strides;  // of starts, along each axis
  std::size_t count = 0;                      // of windows
  bool moves = false;                         // inside, those that leave the operand
  Word fill = 0;                              // what is taken outside
};

struct Step {
  Run run = nullptr;
  std::vector<std::size_t> operands;  // registers
  std::size_t out = 0;                // a register
  std::size_t count = 0;              // of the elements of the result
  fused::Loop loop = nullptr;
  UfuncLoop numpys;
  std::vector<Element> elements;           // that are taken
  std::shared_ptr<const Windows> windows;  // that are taken or replaced
  Word identity = 0;                       // the bits of it
  bool multiplies = false;                 // in float64
  std::size_t outer = 0, along = 0;        // sizes in front of, and along what is reduced
};

// A register: of an operand, a constant, a step, or part of another.
struct Register {
  std::size_t count;
  std::ptrdiff_t part_of = -1;  // if not, it has memory of its own
  std::size_t start = 0;
  const Word* known = nullptr;  // the words, if they depend on no operand
  std::ptrdiff_t offset = -1;   // in the memory of a call, if it lies there
};

struct Operand {
  std::size_t count;
  bool is_boolean;
};

struct Result {
  std::size_t of;
  int dtype;
  bool in_place;  // the step writes into the array
  std::vector<npy_intp> shape;
};

struct Program {
  std::vector<Operand> operands;  // the first registers
  std::vector<Register> registers;
  std::vector<std::unique_ptr<Word[]>> known;  // words of registers
  std::vector<Step> steps;
  std::vector<Result> results;
  std::size_t words = 0;  // of the memory of a call

  // Memory for the words of a register that depend on no operand.
  Word* keep(std::size_t count) {
    known.push_back(std::make_unique<Word[]>(count));
    return known.back().get();
  }
};

[[noreturn]] void refuse(PyObject* error, const char* reason) {
  PyErr_SetString(error, reason);
  throw nb::python_error();
}

void run_loop(const Step& step, Word* const* places) {
  const void* at[3] = {nullptr, nullptr, nullptr};
  for (std::size_t i = 0; i < step.operands.size(); ++i) at[i] = places[step.operands[i]];
  step.loop(step.count, at[0], at[1], at[2], places[step.out]);
}

void run_inner(const Step& step, Word* const* places) {
  char* at[4];
  const npy_intp steps[] = {sizeof(Word), sizeof(Word), sizeof(Word), sizeof(Word)};
  std::size_t i = 0;
  for (std::size_t operand : step.operands) at[i++] = reinterpret_cast<char*>(places[operand]);
  at[i] = reinterpret_cast<char*>(places[step.out]);
  const auto count = static_cast<npy_intp>(step.count);
  step.numpys.inner(at, &count, steps, step.numpys.data);
}

void run_take(const Step& step, Word* const* places) {
  Word* out = places[step.out];
  if (step.operands.size() == 1) {
    const Word* from = places[step.operands[0]];
    for (const Element& element : step.elements) *out++ = from[element.index];
    return;
  }
  for (const Element& element : step.elements) {
    *out++ = places[step.operands[element.operand]][element.index];
  }
}

void run_fill(const Step& step, Word* const* places) {
  std::fill_n(places[step.out], step.count, *places[step.operands[0]]);
}

// Where each window starts in memory; -1 if it does not lie inside.
void find_windows(const Windows& windows, const std::int32_t* starts, std::int32_t* found) {
  for (std::size_t i = 0; i < windows.count; ++i) {
    bool is_inside = true;
    std::int32_t at = 0;
    for (std::size_t axis = 0; axis < windows.limits.size(); ++axis) {
      const std::int32_t start = *starts++;
      const std::int32_t near = std::clamp(start, std::int32_t{0}, windows.limits[axis]);
      is_inside &= near == start;
      at += near * windows.strides[axis];
    }
    found[i] = is_inside || windows.moves ? at : -1;
  }
}

void run_windows(const Step& step, Word* const* places) {
  const Windows& windows = *step.windows;
  std::int32_t starts[kMostElements];
  find_windows(windows, reinterpret_cast<const std::int32_t*>(places[step.operands[1]]), starts);
  const Word* in = places[step.operands[0]];
  Word* out = places[step.out];
  if (step.operands.size() == 2) {
    for (const Windows::Place& place : windows.places) {
      const std::int32_t start = starts[place.window];
      *out++ = start < 0 ? windows.fill : in[start + place.at];
    }
    return;
  }
  std::copy_n(in, step.count, out);
  const Word* updates = places[step.operands[2]];
  for (const Windows::Place& place : windows.places) {
    if (starts[place.window] < 0) continue;
    Word* element = out + starts[place.window] + place.at;
    if (step.loop == nullptr) {
      *element = updates[place.update];
    } else {
      step.loop(1, element, updates + place.update, nullptr, element);
    }
  }
}

// Calls `body(out, in, inner)` for the elements in front; those behind lie in a row.
template <typename T, typename Body>
void for_each_outer(const Step& step, Word* const* places, Body body) {
  const std::size_t inner = step.count / step.outer;
  auto* out = reinterpret_cast<T*>(places[step.out]);
  const auto* in = reinterpret_cast<const T*>(places[step.operands[0]]);
  for (std::size_t i = 0; i < step.outer; ++i, out += inner, in += step.along * inner) {
    body(out, in, inner);
  }
}

// By an inner loop of NumPy of two operands, as its `reduce` calls it: it begins with the identity.
void run_reduction(const Step& step, Word* const* places) {
  const npy_intp word = sizeof(Word);
  for_each_outer<Word>(step, places, [&](Word* out, const Word* in, std::size_t inner) {
    std::fill_n(out, inner, step.identity);
    auto* to = reinterpret_cast<char*>(out);
    char* at[] = {to, reinterpret_cast<char*>(const_cast<Word*>(in)), to};
    if (inner == 1) {
      const auto count = static_cast<npy_intp>(step.along);
      const npy_intp steps[] = {0, word, 0};
      return step.numpys.inner(at, &count, steps, step.numpys.data);
    }
    const auto count = static_cast<npy_intp>(inner);
    const npy_intp steps[] = {word, word, word};
    for (std::size_t i = 0; i < step.along; ++i, at[1] += inner * sizeof(Word)) {
      step.numpys.inner(at, &count, steps, step.numpys.data);
    }
  });
}

// With an operation of chains that is exact, so that any order will do: by halves where elements
// lie in a row.
void run_folding(const Step& step, Word* const* places) {
  Word row[kMostElements];
  for_each_outer<Word>(step, places, [&](Word* out, const Word* in, std::size_t inner) {
    if (inner == 1) {
      std::copy_n(in, step.along, row);
      for (std::size_t left = step.along; left > 1; left -= left / 2) {
        const std::size_t half = left / 2;
        step.loop(half, row, row + (left - half), nullptr, row);
      }
      *out = row[0];
      return;
    }
    std::copy_n(in, inner, out);
    for (std::size_t i = 1; i < step.along; ++i) {
      step.loop(inner, out, in + i * inner, nullptr, out);
    }
  });
}

// All partial results of such an operation.
void run_accumulation(const Step& step, Word* const* places) {
  const std::size_t inner = step.count / (step.outer * step.along);
  Word* out = places[step.out];
  const Word* in = places[step.operands[0]];
  for (std::size_t i = 0; i < step.outer; ++i) {
    for (std::size_t j = 0; j < step.along; ++j, out += inner, in += inner) {
      if (j == 0) {
        std::copy_n(in, inner, out);
      } else {
        step.loop(inner, out - inner, in, nullptr, out);
      }
    }
  }
}

// The same of float32, carried in float64.
void run_wide_accumulation(const Step& step, Word* const* places) {
  const std::size_t inner = step.count / (step.outer * step.along);
  const auto* in = reinterpret_cast<const float*>(places[step.operands[0]]);
  auto* out = reinterpret_cast<float*>(places[step.out]);
  for (std::size_t i = 0; i < step.outer;
       ++i, in += step.along * inner, out += step.along * inner) {
    for (std::size_t column = 0; column < inner; ++column) {
      double carry = in[column];
      out[column] = in[column];
      for (std::size_t j = 1; j < step.along; ++j) {
        const double next = in[j * inner + column];
        carry = step.multiplies ? carry * next : carry + next;
        out[j * inner + column] = static_cast<float>(carry);
      }
    }
  }
}

nb::object contiguous(PyObject* operand) {
  if (!PyArray_Check(operand)) refuse(PyExc_TypeError, "a small program takes arrays");
  auto* array = reinterpret_cast<PyArrayObject*>(operand);
  if (PyArray_ISCARRAY_RO(array)) return nb::borrow(operand);
  return checked(PyArray_FROM_OF(operand, NPY_ARRAY_CARRAY_RO));
}

// Where each register lies during a call.
class Memory {
 public:
  explicit Memory(const Program& program) : places_(program.registers.size()) {
    if (program.words > kOnStack) heap_.reset(new Word[program.words]);
    Word* words = heap_ ? heap_.get() : stack_;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Register& one = program.registers[i];
      if (one.known != nullptr) {
        place(i, one.known);
      } else if (one.offset >= 0) {
        places_[i] = words + one.offset;
      }
    }
  }

  void place(std::size_t i, const void* where) {
    places_[i] = static_cast<Word*>(const_cast<void*>(where));
  }
  Word* operator[](std::size_t i) const { return places_[i]; }
  Word* const* places() const { return places_.data(); }

 private:
  std::vector<Word*> places_;
  std::unique_ptr<Word[]> heap_;
  alignas(64) Word stack_[kOnStack];
};

nb::object call_program(const Program& program, PyObject* const* operands, std::size_t count) {
  if (count != program.operands.size())
    refuse(PyExc_TypeError, "a small program of another number of operands");
  Memory memory(program);
  References held, results;
  for (std::size_t i = 0; i < count; ++i) {
    nb::object array = contiguous(operands[i]);
    auto* numpy = reinterpret_cast<PyArrayObject*>(array.ptr());
    const Operand& operand = program.operands[i];
    if (static_cast<std::size_t>(PyArray_SIZE(numpy)) != operand.count ||
        PyArray_ITEMSIZE(numpy) != (operand.is_boolean ? 1 : 4))
      refuse(PyExc_ValueError, "a small program on arrays of another size");
    if (operand.is_boolean) {
      const auto* flags = static_cast<const std::uint8_t*>(PyArray_DATA(numpy));
      fused::words_of_flags(flags, operand.count, memory[i]);
    } else {
      memory.place(i, PyArray_DATA(numpy));
    }
    held.push(std::move(array));
  }
  for (const Result& result : program.results) {
    results.push(
        checked(PyArray_EMPTY(static_cast<int>(result.shape.size()),
                              const_cast<npy_intp*>(result.shape.data()), result.dtype, 0)));
    auto* numpy = reinterpret_cast<PyArrayObject*>(results[results.size() - 1]);
    if (result.in_place) memory.place(result.of, PyArray_DATA(numpy));
  }
  for (std::size_t i = count; i < program.registers.size(); ++i) {
    const Register& one = program.registers[i];
    if (one.part_of >= 0 && one.known == nullptr)
      memory.place(i, memory[static_cast<std::size_t>(one.part_of)] + one.start);
  }
  for (const Step& step : program.steps) step.run(step, memory.places());
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    const Result& result = program.results[i];
    if (result.in_place) continue;
    void* data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(results[i]));
    const std::size_t size = program.registers[result.of].count;
    if (result.dtype == NPY_BOOL) {
      fused::flags_of_words(memory[result.of], size, static_cast<std::uint8_t*>(data));
    } else {
      std::copy_n(memory[result.of], size, static_cast<Word*>(data));
    }
  }
  return results.size() == 1 ? results.pop() : tuple_of(results.data(), results.size());
}

constexpr const char* kCapsule = "morphax.small_program";

PyObject* call_capsule(PyObject* capsule, PyObject* const* operands, Py_ssize_t count) {
  return guarded([&] {
    const auto* program = static_cast<const Program*>(PyCapsule_GetPointer(capsule, kCapsule));
    return call_program(*program, operands, static_cast<std::size_t>(count));
  });
}

PyMethodDef program_method = {
    "small_program", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_capsule)),
    METH_FASTCALL, nullptr};

void find_loop(nb::handle name, Step& step) {
  const fused::Operation* operation = fused::find(nb::cast<std::string_view>(name));
  if (operation == nullptr || operation->loop == nullptr)
    refuse(PyExc_ValueError, "an operation that cannot be in a small program");
  step.loop = operation->loop;
}

void read_elements(nb::handle operands, nb::handle indices, Step& step) {
  for (std::size_t i = 0; i < step.count; ++i) {
    step.elements.push_back(
        {nb::cast<std::uint32_t>(operands[i]), nb::cast<std::uint32_t>(indices[i])});
  }
}

// Raises unless all that may be read or written exists.
void check_windows(const Step& step, const Program& program) {
  const Windows& windows = *step.windows;
  const auto size_of = [&](std::size_t i) { return program.registers[step.operands[i]].count; };
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < windows.limits.size(); ++axis) {
    if (windows.limits[axis] < 0 || windows.strides[axis] < 0)
      refuse(PyExc_IndexError, "windows that do not fit");
    last += static_cast<std::int64_t>(windows.limits[axis]) * windows.strides[axis];
  }
  const bool replaces = step.operands.size() == 3;
  const std::size_t elements = windows.places.size();
  if (windows.count > kMostElements || windows.limits.size() != windows.strides.size() ||
      size_of(1) != windows.count * windows.limits.size() ||
      (replaces ? step.count != size_of(0) || elements != size_of(2) : elements != step.count))
    refuse(PyExc_ValueError, "windows of another size");
  for (const auto& [at, window, update] : windows.places) {
    if (at < 0 || at + last >= static_cast<std::int64_t>(size_of(0)) || update >= elements)
      refuse(PyExc_IndexError, "an element that does not exist");
  }
}

void read_windows(nb::handle given, const Program& program, Step& step) {
  auto windows = std::make_shared<Windows>();
  const auto at = nb::cast<std::vector<std::int32_t>>(given[4]);
  const auto window = nb::cast<std::vector<std::uint32_t>>(given[5]);
  const auto update = nb::cast<std::vector<std::uint32_t>>(given[6]);
  if (window.size() != at.size() || update.size() != at.size())
    refuse(PyExc_ValueError, "tables of different lengths");
  for (std::size_t i = 0; i < at.size(); ++i) {
    windows->places.push_back({at[i], window[i], update[i]});
    windows->count = std::max<std::size_t>(windows->count, window[i] + std::size_t{1});
  }
  windows->limits = nb::cast<std::vector<std::int32_t>>(given[7]);
  windows->strides = nb::cast<std::vector<std::int32_t>>(given[8]);
  windows->moves = nb::cast<bool>(given[9]);
  windows->fill = nb::cast<Word>(given[10]);
  step.windows = std::move(windows);
  if (!nb::cast<std::string_view>(given[3]).empty()) find_loop(given[3], step);
  step.run = run_windows;
  check_windows(step, program);
}

Step step_of(nb::handle given, const Program& program, std::size_t out, std::size_t count) {
  Step step;
  const auto kind = nb::cast<std::string_view>(given[0]);
  step.out = out, step.count = count;
  for (nb::handle operand : given[1]) {
    step.operands.push_back(nb::cast<std::size_t>(operand));
    if (step.operands.back() >= out)
      refuse(PyExc_ValueError, "a register that is read before written");
  }
  if (step.operands.empty()) refuse(PyExc_ValueError, "a step without operands");
  const bool whole = std::all_of(step.operands.begin(), step.operands.end(), [&](std::size_t i) {
    return program.registers[i].count == count;
  });
  if (kind == "loop" || kind == "inner") {
    if (!whole) refuse(PyExc_ValueError, "operands of other sizes");
    if (kind == "loop") {
      find_loop(given[3], step);
      step.run = run_loop;
    } else {
      step.numpys = ufunc_loop_of_floats(given[3], step.operands.size());
      step.run = run_inner;
    }
  } else if (kind == "fill") {
    step.run = run_fill;
  } else if (kind == "windows") {
    if (step.operands.size() < 2) refuse(PyExc_ValueError, "windows of nothing");
    read_windows(given, program, step);
  } else if (kind == "take") {
    read_elements(given[3], given[4], step);
    for (const Element& element : step.elements) {
      if (element.operand >= step.operands.size() ||
          element.index >= program.registers[step.operands[element.operand]].count)
        refuse(PyExc_IndexError, "an element that does not exist");
    }
    step.run = run_take;
  } else {
    step.outer = nb::cast<std::size_t>(given[4]), step.along = nb::cast<std::size_t>(given[5]);
    const std::size_t size = program.registers[step.operands[0]].count;
    const bool is_wide = kind == "accumulate_wide", keeps = is_wide || kind == "accumulate";
    if (step.along == 0 || step.along > kMostElements || step.outer == 0 ||
        (keeps ? count : count * step.along) != size || size % (step.outer * step.along) != 0)
      refuse(PyExc_ValueError, "a reduction of another size");
    if (kind == "reduce") {
      step.numpys = ufunc_loop_of_floats(given[3], 2);
      step.identity = nb::cast<Word>(given[6]);
      step.run = run_reduction;
    } else {
      find_loop(given[3], step);
      step.run = is_wide ? run_wide_accumulation : keeps ? run_accumulation : run_folding;
      step.multiplies = nb::cast<std::string_view>(given[3]) == "mul_float32";
    }
  }
  return step;
}

// The register whose memory one lies in.
std::size_t root_of(const Program& program, std::size_t i) {
  while (program.registers[i].part_of >= 0)
    i = static_cast<std::size_t>(program.registers[i].part_of);
  return i;
}

// Gives registers their places in the memory of a call: one after another, and again where nobody
// needs what lies there any more.
class Layout {
 public:
  std::size_t words = 0;

  std::size_t take(std::size_t count) {
    count = (count + kAligned - 1) / kAligned * kAligned;
    for (auto free = free_.rbegin(); free != free_.rend(); ++free) {
      if (free->count != count) continue;
      const std::size_t offset = free->offset;
      free_.erase(std::next(free).base());
      return offset;
    }
    words += count;
    return words - count;
  }
  void give_back(std::size_t offset, std::size_t count) {
    free_.push_back({offset, (count + kAligned - 1) / kAligned * kAligned});
  }

 private:
  struct Free {
    std::size_t offset, count;
  };
  std::vector<Free> free_;
};

void lay_out(Program& program) {
  std::vector<std::size_t> last_use(program.registers.size(), 0);
  const auto is_used = [&](std::size_t i, std::size_t when) {
    std::size_t& last = last_use[root_of(program, i)];
    last = std::max(last, when);
  };
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    is_used(program.steps[i].out, i);
    for (std::size_t operand : program.steps[i].operands) is_used(operand, i);
  }
  for (const Result& result : program.results) is_used(result.of, program.steps.size());
  Layout layout;
  std::vector<std::vector<std::size_t>> done(program.steps.size() + 1);
  const auto place = [&](std::size_t i) {
    Register& one = program.registers[i];
    one.offset = static_cast<std::ptrdiff_t>(layout.take(one.count));
    done[last_use[i]].push_back(i);
  };
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    if (program.operands[i].is_boolean) place(i);
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const std::size_t out = program.steps[i].out;
    const bool in_place =
        std::any_of(program.results.begin(), program.results.end(),
                    [out](const Result& one) { return one.in_place && one.of == out; });
    if (!in_place) place(out);
    for (std::size_t of : done[i])
      layout.give_back(static_cast<std::size_t>(program.registers[of].offset),
                       program.registers[of].count);
  }
  program.words = layout.words;
}

// Appends a step and its register; what depends on no operand is worked out at once.
void add_step(Program& program, nb::handle given) {
  const auto count = nb::cast<std::size_t>(given[2]);
  const std::size_t out = program.registers.size();
  if (nb::cast<std::string_view>(given[0]) == "part") {
    const auto of = nb::cast<std::size_t>(given[1][0]), start = nb::cast<std::size_t>(given[3]);
    if (of >= out || start + count > program.registers[of].count)
      refuse(PyExc_IndexError, "a part that does not exist");
    const Word* known = program.registers[of].known;
    program.registers.push_back({count, static_cast<std::ptrdiff_t>(of), start,
                                 known == nullptr ? nullptr : known + start});
    return;
  }
  const Step step = step_of(given, program, out, count);
  program.registers.push_back({count});
  std::vector<Word*> places(out + 1, nullptr);
  for (std::size_t i : step.operands) places[i] = const_cast<Word*>(program.registers[i].known);
  if (std::any_of(step.operands.begin(), step.operands.end(),
                  [&](std::size_t i) { return places[i] == nullptr; })) {
    program.steps.push_back(step);
    return;
  }
  program.registers[out].known = places[out] = program.keep(count);
  step.run(step, places.data());
}

// Registers are numbered in this order: operands, constants, steps.
nb::object make(nb::sequence operands, nb::sequence constants, nb::sequence steps,
                nb::sequence results) {
  auto program = std::make_unique<Program>();
  for (nb::handle operand : operands) {
    program->operands.push_back({nb::cast<std::size_t>(operand[0]), nb::cast<bool>(operand[1])});
    program->registers.push_back({program->operands.back().count});
  }
  for (nb::handle bits : constants) {
    Word* word = program->keep(1);
    *word = nb::cast<Word>(bits);
    program->registers.push_back({1, -1, 0, word});
  }
  for (nb::handle step : steps) add_step(*program, step);
  std::vector<bool> placed(program->registers.size());
  for (nb::handle result : results) {
    const auto of = nb::cast<std::size_t>(result[0]);
    const int dtype = nb::cast<int>(result[1]);
    if (of >= program->registers.size()) refuse(PyExc_IndexError, "a register that is not there");
    const Register& one = program->registers[of];
    const bool is_step = of >= program->operands.size() && one.part_of < 0 && one.known == nullptr;
    const bool in_place = is_step && !placed[of] && dtype != NPY_BOOL;
    placed[of] = placed[of] || in_place;
    std::vector<npy_intp> shape;
    std::size_t size = 1;
    for (nb::handle n : result[2]) {
      shape.push_back(nb::cast<npy_intp>(n));
      size *= nb::cast<std::size_t>(n);
    }
    if (size != one.count) refuse(PyExc_ValueError, "a result of another size");
    program->results.push_back({of, dtype, in_place, std::move(shape)});
  }
  lay_out(*program);
  const nb::object capsule = checked(PyCapsule_New(program.get(), kCapsule, [](PyObject* self) {
    delete static_cast<Program*>(PyCapsule_GetPointer(self, kCapsule));
  }));
  program.release();
  return checked(PyCFunction_New(&program_method, capsule.ptr()));
}

bool import_numpy() { return _import_array() >= 0 && _import_umath() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  module.def("make", &make);
}

}  // namespace morphax::small_programs
