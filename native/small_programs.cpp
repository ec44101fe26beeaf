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
#include "small_program_steps.h"

namespace morphax::small_programs {

namespace {

// Memory for registers of few elements is on the stack.
constexpr std::size_t kOnStack = 8192;
// Registers begin at multiples of this: those of vectors.
constexpr std::size_t kAligned = 16;
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
  const Step step = step_of(given, program.registers, out, count);
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
