// The steps of programs on few numbers: what each is made of, and how it is read.
#pragma once

// NumPy's table of functions, which the program's file imports and the steps' file uses.
#define PY_UFUNC_UNIQUE_SYMBOL morphax_small_programs_ufunc_api

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fused_operations.h"
#include "ufunc_loops.h"

namespace morphax::small_programs {

namespace nb = nanobind;

// Registers are of words, one or two for each number.
using Word = std::uint32_t;
using Wide = std::uint64_t;

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
  bool of_wide = false;                       // starts are numbers of 64 bits
  Wide fill = 0;                              // what is taken outside
};

struct Step {
  Run run = nullptr;
  std::vector<std::size_t> operands;  // registers
  std::size_t out = 0;                // a register
  std::size_t count = 0;              // of the elements of the result
  std::size_t width = 1;              // words of each
  fused::Loop loop = nullptr;
  UfuncLoop numpys;
  std::vector<Element> elements;           // that are taken
  std::shared_ptr<const Windows> windows;  // that are taken or replaced
  Wide identity = 0;                       // the bits of it
  bool multiplies = false;                 // in float64
  std::size_t outer = 0, along = 0;        // sizes in front of, and along what is reduced
};

// A register: of an operand, a constant, a step, or part of another.
struct Register {
  std::size_t count;
  std::size_t width = 1;        // words of each element
  std::ptrdiff_t part_of = -1;  // if not, it has memory of its own
  std::size_t start = 0;
  const Word* known = nullptr;  // the words, if they depend on no operand
  std::ptrdiff_t offset = -1;   // in the memory of a call, if it lies there
};

[[noreturn]] void refuse(PyObject* error, const char* reason);

// The words of a number of so many bytes.
std::size_t words_of(nb::handle itemsize);

// The step that a tuple describes.  It reads registers there are, and writes register number `out`.
Step step_of(nb::handle given, const std::vector<Register>& registers, std::size_t out);

}  // namespace morphax::small_programs
