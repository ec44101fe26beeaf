// Numbers in the forms that arrays have them in, and as the words of registers.
//
// Truth values are the words 0 and 1, numbers of narrow formats words of float32.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fused_operations.h"
#include "half_floats.h"
#include "kernels.h"

namespace morphax::fused {

MORPHAX_VECTORIZED_INTEGERS
void words_of_flags(const std::uint8_t* flags, std::size_t count, std::uint32_t* words) {
  for (std::size_t i = 0; i < count; ++i) words[i] = flags[i];
}

MORPHAX_VECTORIZED_INTEGERS
void flags_of_words(const std::uint32_t* words, std::size_t count, std::uint8_t* flags) {
  for (std::size_t i = 0; i < count; ++i) flags[i] = static_cast<std::uint8_t>(words[i]);
}

void repeat(std::uint8_t number, std::size_t count, std::uint8_t* out) {
  std::memset(out, number, count);
}

MORPHAX_VECTORIZED_INTEGERS
void repeat(std::uint32_t number, std::size_t count, std::uint32_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = number;
}

MORPHAX_VECTORIZED_INTEGERS
void repeat(std::uint64_t number, std::size_t count, std::uint64_t* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = number;
}

// What is too much of a number the next one overwrites.  Where one store is enough, no loop asks
// for more.
#define MORPHAX_REPEAT_EACH(T)                                                       \
  MORPHAX_VECTORIZED_INTEGERS                                                        \
  void repeat_each(const T* numbers, std::size_t count, std::size_t times, T* out) { \
    if (times <= kTogether) {                                                        \
      for (std::size_t i = 0; i < count; ++i, out += times) {                        \
        const T number = numbers[i];                                                 \
        for (std::size_t j = 0; j < kTogether; ++j) out[j] = number;                 \
      }                                                                              \
      return;                                                                        \
    }                                                                                \
    for (std::size_t i = 0; i < count; ++i, out += times) {                          \
      const T number = numbers[i];                                                   \
      for (std::size_t first = 0; first < times; first += kTogether) {               \
        for (std::size_t j = 0; j < kTogether; ++j) out[first + j] = number;         \
      }                                                                              \
    }                                                                                \
  }
MORPHAX_REPEAT_EACH(std::uint8_t)
MORPHAX_REPEAT_EACH(std::uint32_t)
MORPHAX_REPEAT_EACH(std::uint64_t)

MORPHAX_VECTORIZED_INTEGERS
void words_of_bfloat16(const std::uint16_t* numbers, std::size_t count, std::uint32_t* words) {
  for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(numbers[i]) << 16;
}

MORPHAX_VECTORIZED_INTEGERS
void bfloat16_of_words(const std::uint32_t* words, std::size_t count, std::uint16_t* numbers) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::uint16_t>(words[i] >> 16);
}

MORPHAX_VECTORIZED_INTEGERS
void words_of_float16(const std::uint16_t* numbers, std::size_t count, std::uint32_t* words) {
  for (std::size_t i = 0; i < count; ++i) words[i] = half_floats::widened(numbers[i]);
}

MORPHAX_VECTORIZED_INTEGERS
void float16_of_words(const std::uint32_t* words, std::size_t count, std::uint16_t* numbers) {
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<std::uint16_t>(half_floats::narrowed(words[i]));
}

MORPHAX_VECTORIZED_INTEGERS
void widen_float16(std::size_t count, std::uint32_t* words) {
  for (std::size_t i = 0; i < count; ++i) words[i] = half_floats::widened(words[i]);
}

MORPHAX_VECTORIZED_INTEGERS
void round_to_float16(std::size_t count, std::uint32_t* words) {
  for (std::size_t i = 0; i < count; ++i)
    words[i] = half_floats::widened(half_floats::narrowed(words[i]));
}

MORPHAX_VECTORIZED_INTEGERS
void round_to_bfloat16(std::size_t count, std::uint32_t* words) {
  constexpr std::uint32_t kSign = 0x80000000, kInfinity = 0x7f800000, kNan = 0x7fc00000;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = words[i],
                        rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
    words[i] = (bits & ~kSign) > kInfinity ? (bits & kSign) | kNan : rounded;
  }
}

}  // namespace morphax::fused
