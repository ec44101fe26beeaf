// Programs on few numbers, operation after operation, as one call.
//
// NumPy's part of an operation on ten numbers is some nanoseconds; the rest of its time goes into
// the arrays around it.  Here a run of operations on numbers of 32 or 64 bits works on plain
// memory, and only what comes in and goes out is an array.
// `morphax/engines/reference/small_programs.py` finds such runs and says what the steps are.
// Elementwise operations are those of chains
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
#include "small_program_steps.h"

namespace morphax::small_programs {

namespace {

// Memory for registers of few elements is on the stack.
constexpr std::size_t kOnStack = 8192;
// Registers begin at multiples of this: those of vectors.
constexpr std::size_t kAligned = 16;
struct Operand {
  std::size_t count;
  std::size_t bytes;  // of an element: truth values are of one
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
        static_cast<std::size_t>(PyArray_ITEMSIZE(numpy)) != operand.bytes)
      refuse(PyExc_ValueError, "a small program on arrays of another size");
    if (operand.bytes == 1) {
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
      memory.place(i, memory[static_cast<std::size_t>(one.part_of)] + one.start * one.width);
  }
  for (const Step& step : program.steps) step.run(step, memory.places());
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    const Result& result = program.results[i];
    if (result.in_place) continue;
    void* data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(results[i]));
    const Register& one = program.registers[result.of];
    if (result.dtype == NPY_BOOL) {
      fused::flags_of_words(memory[result.of], one.count, static_cast<std::uint8_t*>(data));
    } else {
      std::copy_n(memory[result.of], one.count * one.width, static_cast<Word*>(data));
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
    one.offset = static_cast<std::ptrdiff_t>(layout.take(one.count * one.width));
    done[last_use[i]].push_back(i);
  };
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    if (program.operands[i].bytes == 1) place(i);
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const std::size_t out = program.steps[i].out;
    const bool in_place =
        std::any_of(program.results.begin(), program.results.end(),
                    [out](const Result& one) { return one.in_place && one.of == out; });
    if (!in_place) place(out);
    for (std::size_t of : done[i]) {
      const Register& one = program.registers[of];
      layout.give_back(static_cast<std::size_t>(one.offset), one.count * one.width);
    }
  }
  program.words = layout.words;
}

// Appends a register of elements that lie in a row in another one.
void add_part(Program& program, nb::handle given) {
  const auto of = nb::cast<std::size_t>(given[1][0]), count = nb::cast<std::size_t>(given[2]);
  const auto start = nb::cast<std::size_t>(given[4]);
  if (of >= program.registers.size() || start + count > program.registers[of].count)
    refuse(PyExc_IndexError, "a part that does not exist");
  const auto [width, known] = std::pair(program.registers[of].width, program.registers[of].known);
  program.registers.push_back({count, width, static_cast<std::ptrdiff_t>(of), start,
                               known == nullptr ? nullptr : known + start * width});
}

// Appends a step and its register; what depends on no operand is worked out at once.
void add_step(Program& program, nb::handle given) {
  if (nb::cast<std::string_view>(given[0]) == "part") return add_part(program, given);
  const std::size_t out = program.registers.size();
  const Step step = step_of(given, program.registers, out);
  program.registers.push_back({step.count, step.width});
  std::vector<Word*> places(out + 1, nullptr);
  for (std::size_t i : step.operands) places[i] = const_cast<Word*>(program.registers[i].known);
  if (std::any_of(step.operands.begin(), step.operands.end(),
                  [&](std::size_t i) { return places[i] == nullptr; })) {
    program.steps.push_back(step);
    return;
  }
  program.registers[out].known = places[out] = program.keep(step.count * step.width);
  step.run(step, places.data());
}

void add_operand(Program& program, nb::handle given) {
  const auto count = nb::cast<std::size_t>(given[0]), bytes = nb::cast<std::size_t>(given[1]);
  program.operands.push_back({count, bytes});
  program.registers.push_back({count, bytes == 1 ? 1 : words_of(given[1])});
}

void add_constant(Program& program, nb::handle given) {
  const std::size_t width = words_of(given[1]);
  Word* words = program.keep(width);
  const auto bits = nb::cast<Wide>(given[0]);
  std::memcpy(words, &bits, width * sizeof(Word));  // the low word comes first
  program.registers.push_back({1, width, -1, 0, words});
}

std::size_t itemsize_of(int dtype) {
  const nb::object descr = checked(reinterpret_cast<PyObject*>(PyArray_DescrFromType(dtype)));
  return static_cast<std::size_t>(PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(descr.ptr())));
}

// Registers are numbered in this order: operands, constants, steps.
nb::object make(nb::sequence operands, nb::sequence constants, nb::sequence steps,
                nb::sequence results) {
  auto program = std::make_unique<Program>();
  for (nb::handle operand : operands) add_operand(*program, operand);
  for (nb::handle constant : constants) add_constant(*program, constant);
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
    if (size != one.count || (dtype != NPY_BOOL && itemsize_of(dtype) != one.width * sizeof(Word)))
      refuse(PyExc_ValueError, "a result of another size");
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
