// Steps of a chain as machine code, bought once runs have taken as long as it costs.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace morphax::fused {

struct Arrays;
struct Chain;

// Machine code works on so many elements; what fills no such block is done by single steps.
inline constexpr std::size_t kBlockOfCode = 2048;

// Pointers to what is read and written, and to memory in between.
using Compute = void (*)(const void* const*, void* const*, void*);

// Several steps as one, or a single one.
struct Part {
  Compute compute = nullptr;
  std::vector<std::size_t> reads, writes;  // registers
  std::size_t step = 0;                    // the number of a single one
};

// How a chain is computed with machine code.  Truth values are bytes in its registers.
class Code {
 public:
  // Parts are (address, registers that are read, registers that are written), or numbers of steps;
  // the owner keeps the code.
  Code(const Chain& chain, nanobind::object owner, nanobind::sequence parts,
       std::size_t scratch_bytes);

  // Elements `begin` to `end`, a whole number of blocks.
  void run(const Chain& chain, const Arrays& arrays, std::size_t begin, std::size_t end) const;

 private:
  class Places;

  void run_single(const Chain& chain, const Part& part, std::size_t start,
                  void* const* places) const;

  nanobind::object owner_;
  std::vector<Part> parts_;
  std::vector<std::size_t> widths_;  // of the elements of registers, in bytes; 0: none, or a key
  std::size_t scratch_bytes_;
};

// Machine code of a chain that is made when runs have taken long enough in all.
class Purchase {
 public:
  // `make` gives the arguments of `Code` behind the chain, the seconds after which to ask again, or
  // None.
  void after(double seconds, nanobind::object make);

  // The code for the next run, made if it is time; null where there is none.
  const Code* code(const Chain& chain);

  // A run took so long.
  void spent(double seconds);

 private:
  std::unique_ptr<const Code> code_;
  nanobind::object make_ = nanobind::none();
  double worth_ = 0;
  std::atomic<double> seconds_left_{0};
};

}  // namespace morphax::fused
