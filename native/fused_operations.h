#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace morphax::fused {

// Computes `count` words of a result from as many of each operand, or numbers of 64 bits; booleans
// are the words 0 and 1.
using Loop = void (*)(std::size_t count, const void* a, const void* b, const void* c, void* out);

// Rounds words of float32 to a narrow format, of whose numbers they are.
using Rounding = void (*)(std::size_t count, std::uint32_t* words);

struct Operation {
  std::string_view name;
  int operands;
  Loop loop;  // null for what is drawn from a key
  Rounding rounds = nullptr;
  bool is_wide = false;  // some of its numbers have 64 bits
};

constexpr std::string_view kDraw = "random_bits_uint32", kWideDraw = "random_bits_uint64";

// Truth values, as the words 0 and 1 and back.
void words_of_flags(const std::uint8_t* flags, std::size_t count, std::uint32_t* words);
void flags_of_words(const std::uint32_t* words, std::size_t count, std::uint8_t* flags);

// One number in many places.
void repeat(std::uint8_t number, std::size_t count, std::uint8_t* out);
void repeat(std::uint32_t number, std::size_t count, std::uint32_t* out);
void repeat(std::uint64_t number, std::size_t count, std::uint64_t* out);

// Each number so many times, by as many places at a time: there must be room for the last ones.
inline constexpr std::size_t kTogether = 8;
void repeat_each(const std::uint8_t* numbers, std::size_t count, std::size_t times,
                 std::uint8_t* out);
void repeat_each(const std::uint32_t* numbers, std::size_t count, std::size_t times,
                 std::uint32_t* out);
void repeat_each(const std::uint64_t* numbers, std::size_t count, std::size_t times,
                 std::uint64_t* out);

// Numbers of bfloat16, as words of float32.
void words_of_bfloat16(const std::uint16_t* numbers, std::size_t count, std::uint32_t* words);
void bfloat16_of_words(const std::uint32_t* words, std::size_t count, std::uint16_t* numbers);
// The same of float16, and of such in the low bits of words, in place.
void words_of_float16(const std::uint16_t* numbers, std::size_t count, std::uint32_t* words);
void float16_of_words(const std::uint32_t* words, std::size_t count, std::uint16_t* numbers);
void widen_float16(std::size_t count, std::uint32_t* words);
void round_to_float16(std::size_t count, std::uint32_t* words);
// To the nearest number of bfloat16, ties to even; all NaN of one sign are one.
void round_to_bfloat16(std::size_t count, std::uint32_t* words);

// The operations on numbers of 64 bits.
struct Operations {
  const Operation* first;
  std::size_t count;
};
Operations wide_operations();
Loop wide_product_with_sum();

// A product and the sum of it and another number, each rounded; null if there is no such loop.
Loop product_with_sum(Loop product, Loop sum);

// The operation of a name; null if there is none.
const Operation* find(std::string_view name);

// Calls `visit(name)` for each operation.
void for_each_name(void (*visit)(std::string_view name, void* data), void* data);

}  // namespace morphax::fused
