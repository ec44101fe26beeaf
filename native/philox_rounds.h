// Philox-4x32 with 10 rounds.
//
// Reference: Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
#pragma once

#include <cstdint>

namespace morphax::philox {

constexpr int kRounds = 10;
constexpr std::uint32_t kSteps[] = {0x9E3779B9, 0xBB67AE85};

// One round on the words of a counter, by the two words of the key.
[[gnu::always_inline]] inline void mix(std::uint32_t& w0, std::uint32_t& w1, std::uint32_t& w2,
                                       std::uint32_t& w3, std::uint32_t k0, std::uint32_t k1) {
  const std::uint64_t first = std::uint64_t{w0} * 0xD2511F53u;
  const std::uint64_t second = std::uint64_t{w2} * 0xCD9E8D57u;
  w0 = static_cast<std::uint32_t>(second >> 32) ^ w1 ^ k0;
  w1 = static_cast<std::uint32_t>(second);
  w2 = static_cast<std::uint32_t>(first >> 32) ^ w3 ^ k1;
  w3 = static_cast<std::uint32_t>(first);
}

}  // namespace morphax::philox
