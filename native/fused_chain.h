// What a chain of operations is made of, and where the numbers of one call lie.
#pragma once

#include <nanobind/nanobind.h>
#include <numpy/npy_common.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "fused_code.h"
#include "fused_operations.h"
#include "ufunc_loops.h"
#include "workers.h"

namespace morphax::fused {

using Word = std::uint32_t;
using Wide = std::uint64_t;
using Narrow = std::uint16_t;

inline constexpr std::size_t kBlock = 512;
// Numbers that are repeated more often are written one by one.
inline constexpr std::size_t kShortRun = 64;

// Of keys, which have no number among the dtypes of NumPy.
inline constexpr int kKeyDtype = -1;

enum class Kind { kWord, kBoolean, kKey, kWide, kBfloat16, kFloat16 };

// An operand: registers 0, 1, … in turn.  One that does not vary is a single element.
struct Operand {
  Kind kind;
  bool varies;
};

// Writes the register `out`; the ones it reads come before.
struct Step {
  Loop loop = nullptr;
  UfuncLoop numpys;
  std::size_t width = sizeof(Word);  // of what NumPy's loop reads and writes
  Rounding rounds = nullptr;
  bool is_wide = false;  // some numbers have 64 bits
  std::size_t operands[3] = {0, 0, 0};
  std::size_t count = 0;  // of operands
  std::size_t out = 0;
  Kind kind = Kind::kWord;  // of what it writes
};

struct Constant {
  std::size_t out;
  Wide bits;
  bool is_wide;
};

struct Result {
  std::size_t of;
  Kind kind;
  int dtype;
};

struct Chain {
  std::vector<Operand> operands;
  std::vector<Constant> constants;
  std::vector<Step> given;  // all of them, in their order
  std::vector<Step> once;   // of numbers that stay
  std::vector<Step> steps;
  std::vector<Result> results;
  std::vector<npy_intp> shape;
  std::vector<std::size_t> slots;  // where each register has memory
  std::size_t slot_count = 0;
  std::size_t words_of_element = 1;
  std::size_t registers = 0;
  std::size_t count = 1;
  Purchase purchase;
  Experience experience;

  std::size_t block() const { return std::min(count, kBlock / words_of_element); }
};

// Where the elements of an operand are: element i of the result meets number
// i / repeats % length of its memory.
struct Source {
  const void* data = nullptr;
  std::size_t repeats = 1, length = 1;
};

// The arrays of one call.
struct Arrays {
  std::vector<nanobind::object> held;
  std::vector<Source> operands;
  std::vector<void*> results;
};

// Numbers `start` … of an operand whose memory has fewer than the result.
template <typename T, typename Out>
void spread(const Source& source, std::size_t start, std::size_t size, Out* out) {
  const auto* numbers = static_cast<const T*>(source.data);
  std::size_t at = start / source.repeats % source.length, past = start % source.repeats;
  if (source.repeats == 1) {
    // All of them once, from `at` on; then what is there again, twice as many each time.
    std::size_t done = std::min(size, source.length), ahead = std::min(done, source.length - at);
    std::copy_n(numbers + at, ahead, out);
    std::copy_n(numbers, done - ahead, out + ahead);
    for (std::size_t run; done < size; done += run) {
      run = std::min(done, size - done);
      std::copy_n(out, run, out + done);
    }
    return;
  }
  const std::size_t written = (source.repeats + kTogether - 1) / kTogether * kTogether;
  const bool is_short = std::is_same_v<T, Out> && source.repeats <= kShortRun;
  for (std::size_t done = 0; done < size; past = 0) {
    if (is_short && past == 0 && done + written <= size) {
      const std::size_t room = (size - done - written) / source.repeats + 1;
      const std::size_t count = std::min(room, source.length - at);
      repeat_each(reinterpret_cast<const Out*>(numbers + at), count, source.repeats, out + done);
      done += count * source.repeats;
      at = at + count == source.length ? 0 : at + count;
      continue;
    }
    const std::size_t run = std::min(size - done, source.repeats - past);
    repeat(static_cast<Out>(numbers[at]), run, out + done);
    done += run;
    at = at + 1 == source.length ? 0 : at + 1;
  }
}

// One step on `size` elements from `start` on, whose registers lie at `places`.
void run_step(const Step& step, std::size_t start, std::size_t size, void* const* places);

// All steps on elements `begin` to `end`; `begin` is a multiple of `kBlock`, and so of blocks.
void run_steps(const Chain& chain, const Arrays& arrays, std::size_t begin, std::size_t end);

// Divides the given steps into `once` and `steps`, and gives registers their memory.
void lay_out(Chain& chain);

}  // namespace morphax::fused
