// Floats as integers in their order, as they are compared for maxima.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace morphax::float_order {

// The integer of a float; `flip` is -1 for minima, which are maxima of the inverted order.  Those
// of negative numbers are inverted but for the sign.  NaN lie beyond the infinities at both ends;
// lowered by as many as there are at one end, those below wrap around to the top.
template <typename I, I kInfinity>
inline I key_of(I bits, I flip) {
  using U = std::make_unsigned_t<I>;
  constexpr I kMagnitude = std::numeric_limits<I>::max();
  const I ordered = static_cast<I>(bits ^ ((bits >> (8 * sizeof(I) - 1)) & kMagnitude) ^ flip);
  return static_cast<I>(static_cast<U>(ordered) - static_cast<U>(kMagnitude - kInfinity));
}

// The bits of the float; NaN is the quiet one without a sign.
template <typename I, I kInfinity, I kNan>
inline I bits_of(I key, I flip) {
  constexpr I kMagnitude = std::numeric_limits<I>::max();
  constexpr I kBeyond = kMagnitude - kInfinity;
  if (key > kInfinity - kBeyond) return kNan;
  const I ordered = static_cast<I>((key + kBeyond) ^ flip);
  return static_cast<I>(ordered ^ ((ordered >> (8 * sizeof(I) - 1)) & kMagnitude));
}

}  // namespace morphax::float_order
