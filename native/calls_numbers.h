// Python's numbers as operands: what is passed with each call, such as a learning rate, stays on
// the device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "calls_program.h"

namespace morphax::calls {

class Numbers {
 public:
  // The operand that a number, or anything else that is no array yet, becomes at a place.
  nb::object array_of(PyObject* leaf, PyObject* aval, PyObject* place);
  void clear();

 private:
  struct Entry {
    std::uint64_t bits;
    nb::object aval, place, buffer;
  };
  static constexpr std::size_t kMost = 256;

  Entry& place_of(std::uint64_t bits, PyObject* aval);

  std::array<Entry, kMost> entries_;
};

}  // namespace morphax::calls
