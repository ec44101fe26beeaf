// Threefry-2x32 with 20 rounds, whose words stay in registers.
//
// Reference: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
#pragma once

#include <cstdint>

namespace morphax::threefry {

[[gnu::always_inline]] inline std::uint32_t rotated(std::uint32_t x, int distance) {
  return x << distance | x >> (32 - distance);
}

template <int a, int b, int c, int d>
[[gnu::always_inline]] inline void four_rounds(std::uint32_t& x0, std::uint32_t& x1) {
  x1 = rotated(x1, a) ^ (x0 += x1);
  x1 = rotated(x1, b) ^ (x0 += x1);
  x1 = rotated(x1, c) ^ (x0 += x1);
  x1 = rotated(x1, d) ^ (x0 += x1);
}

// A key, as the three words that are added between rounds.
struct Words {
  std::uint32_t k0, k1, k2;

  [[gnu::always_inline]] explicit Words(std::uint64_t key)
      : k0(static_cast<std::uint32_t>(key >> 32)),
        k1(static_cast<std::uint32_t>(key)),
        k2(k0 ^ k1 ^ 0x1BD11BDA) {}

  // Replaces a pair of words by its image.
  [[gnu::always_inline]] void encrypt(std::uint32_t& x0, std::uint32_t& x1) const {
    x0 += k0, x1 += k1;
    four_rounds<13, 15, 26, 6>(x0, x1);
    x0 += k1, x1 += k2 + 1;
    four_rounds<17, 29, 16, 24>(x0, x1);
    x0 += k2, x1 += k0 + 2;
    four_rounds<13, 15, 26, 6>(x0, x1);
    x0 += k0, x1 += k1 + 3;
    four_rounds<17, 29, 16, 24>(x0, x1);
    x0 += k1, x1 += k2 + 4;
    four_rounds<13, 15, 26, 6>(x0, x1);
    x0 += k2, x1 += k0 + 5;
  }

  // The image of a counter, first word high: a key again.
  [[gnu::always_inline]] std::uint64_t image(std::uint64_t counter) const {
    auto x0 = static_cast<std::uint32_t>(counter >> 32), x1 = static_cast<std::uint32_t>(counter);
    encrypt(x0, x1);
    return static_cast<std::uint64_t>(x0) << 32 | x1;
  }
};

}  // namespace morphax::threefry
