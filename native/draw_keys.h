// Keys of the generators that draw by rejection, whose words are kept apart, as vectors want them:
// the compiled form of what `morphax/random/_generators.py` does with one key.
#pragma once

#include <array>
#include <cstdint>

#include "draw_parts.h"
#include "philox_rounds.h"
#include "threefry.h"

namespace morphax::draws {

// The generators, by the numbers that programs have for them.
enum class Generator : std::int64_t { threefry, rbg, unsafe_rbg };

// A key is its words as they lie in memory, so many of 64 bits.  `split` gives key number
// `high` 2^32 + `low` of those that it is split into, `uniform` the first number of its stream.
struct ThreefryKey {
  static constexpr std::size_t kWide = 1;
  std::array<u32, 2> words;  // low word first

  MORPHAX_INLINE ThreefryKey split(u32 low, u32 high = 0) const {
    u32 x0 = high, x1 = low;
    threefry::Words(u64{words[1]} << 32 | words[0]).encrypt(x0, x1);
    return {{x1, x0}};
  }

  template <typename T>
  MORPHAX_INLINE T uniform() const {
    const ThreefryKey image = split(0);
    return unit_of<T>(image.words[1], image.words[0]);
  }
};

// The stream of a state of Philox, a key and a counter: the image of so many counters further on.
MORPHAX_INLINE std::array<u32, 4> stream_block(const std::array<u32, 4>& state, u64 further) {
  const u64 key = u64{state[1]} << 32 | state[0], counter = u64{state[3]} << 32 | state[2];
  const u64 here = counter + further, above = key + (here < counter);
  u32 w0 = static_cast<u32>(here), w1 = static_cast<u32>(here >> 32);
  u32 w2 = static_cast<u32>(above), w3 = static_cast<u32>(above >> 32);
  u32 k0 = state[0], k1 = state[1];
  for (int round = 0; round < philox::kRounds; ++round) {
    philox::mix(w0, w1, w2, w3, k0, k1);
    k0 += philox::kSteps[0], k1 += philox::kSteps[1];
  }
  return {w0, w1, w2, w3};
}

template <typename T>
MORPHAX_INLINE T first_of_stream(const std::array<u32, 4>& state) {
  const std::array<u32, 4> block = stream_block(state, 0);
  // A number of 64 bits has its low word first, one of 32 is a word.
  return unit_of<T>(sizeof(T) == 8 ? block[1] : 0, block[0]);
}

// Two keys of Threefry, each of which is split by itself, and which draw by Philox.
struct RbgKey {
  static constexpr std::size_t kWide = 2;
  std::array<u32, 4> words;  // of each key the high word first

  MORPHAX_INLINE RbgKey split(u32 low, u32 high = 0) const {
    const ThreefryKey first = ThreefryKey{{words[1], words[0]}}.split(low, high);
    const ThreefryKey second = ThreefryKey{{words[3], words[2]}}.split(low, high);
    return {{first.words[1], first.words[0], second.words[1], second.words[0]}};
  }

  template <typename T>
  MORPHAX_INLINE T uniform() const {
    return first_of_stream<T>(words);
  }
};

// A state of Philox, of whose stream every tenth block is a key.
struct UnsafeRbgKey {
  static constexpr std::size_t kWide = 2;
  std::array<u32, 4> words;

  MORPHAX_INLINE UnsafeRbgKey split(u32 low, u32 high = 0) const {
    return {stream_block(words, 10 * (u64{high} << 32 | low))};
  }

  template <typename T>
  MORPHAX_INLINE T uniform() const {
    return first_of_stream<T>(words);
  }
};

}  // namespace morphax::draws
