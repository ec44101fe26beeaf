// Numbers of float16 and bfloat16 in formulas that are written for any precision.
//
// They are numbers of float32 which each operation rounds, as XLA's programs do on processors that
// have no arithmetic of such formats.  That is the right rounding: of sums, products, quotients and
// roots of numbers that have less than half as many digits, float32 has digits enough (Figueroa,
// "When is double rounding innocuous?", ACM SIGNUM Newsletter 30, 1995).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "elementary.h"
#include "half_floats.h"

namespace morphax::half_numbers {

using elementary::bits_as;
using elementary::f32;
using elementary::u32;

struct Float16 {
  static constexpr int kMantissa = 10, kDrawnBits = 16;
  MORPHAX_INLINE static u32 widened(u32 bits) { return half_floats::widened(bits); }
  MORPHAX_INLINE static u32 narrowed(u32 word) { return half_floats::narrowed(word); }
};

struct Bfloat16 {
  static constexpr int kMantissa = 7, kDrawnBits = 8;
  MORPHAX_INLINE static u32 widened(u32 bits) { return bits << 16; }
  // The nearest number, ties to even; all NaN of one sign are one.
  MORPHAX_INLINE static u32 narrowed(u32 word) {
    const u32 nearest = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    return (word & 0x7fffffff) > 0x7f800000 ? ((word >> 16) & 0x8000) | 0x7fc0 : nearest;
  }
};

// As arrays have them.
template <typename Format>
struct Stored {
  std::uint16_t bits;
};

// As formulas have them.
template <typename Format>
struct Half {
  f32 value = 0;

  Half() = default;
  // Written out, as loops with copies of a whole would not vectorise.
  MORPHAX_INLINE Half(const Half& other) : value(other.value) {}
  MORPHAX_INLINE Half& operator=(const Half& other) { return value = other.value, *this; }
  MORPHAX_INLINE Half(double number) : Half(static_cast<f32>(number)) {}
  MORPHAX_INLINE Half(f32 number)
      : value(bits_as<f32>(Format::widened(Format::narrowed(bits_as<u32>(number))))) {}
  MORPHAX_INLINE Half(int number) : Half(static_cast<f32>(number)) {}
  MORPHAX_INLINE Half(Stored<Format> number) : value(bits_as<f32>(Format::widened(number.bits))) {}
  MORPHAX_INLINE Stored<Format> stored() const {
    return {static_cast<std::uint16_t>(Format::narrowed(bits_as<u32>(value)))};
  }

  MORPHAX_INLINE friend Half operator-(Half a) { return with_value(-a.value); }
  MORPHAX_INLINE friend Half operator+(Half a, Half b) { return a.value + b.value; }
  MORPHAX_INLINE friend Half operator-(Half a, Half b) { return a.value - b.value; }
  MORPHAX_INLINE friend Half operator*(Half a, Half b) { return a.value * b.value; }
  MORPHAX_INLINE friend Half operator/(Half a, Half b) { return a.value / b.value; }
  MORPHAX_INLINE friend bool operator==(Half a, Half b) { return a.value == b.value; }
  MORPHAX_INLINE friend bool operator<(Half a, Half b) { return a.value < b.value; }
  MORPHAX_INLINE friend bool operator<=(Half a, Half b) { return a.value <= b.value; }
  MORPHAX_INLINE friend bool operator>=(Half a, Half b) { return a.value >= b.value; }

  // Of a number that has the format.
  MORPHAX_INLINE static Half with_value(f32 value) {
    Half number;
    number.value = value;
    return number;
  }
};

// Horner's rule, whose coefficients and steps are rounded; without a loop, for vectors' sake.
template <typename Format, std::size_t size, std::size_t... i>
MORPHAX_INLINE Half<Format> horner(const f32 (&coefficients)[size], Half<Format> x,
                                   std::index_sequence<i...>) {
  Half<Format> value = coefficients[0];
  ((value = value * x + coefficients[i + 1]), ...);
  return value;
}
template <typename Format, std::size_t size>
MORPHAX_INLINE Half<Format> polynomial(const f32 (&coefficients)[size], Half<Format> x) {
  return horner(coefficients, x, std::make_index_sequence<size - 1>());
}

}  // namespace morphax::half_numbers
