#pragma once

#include <cstddef>
#include <string_view>

namespace morphax::fused {

// Computes `count` words of a result from as many of each operand; booleans are the words 0 and 1.
using Loop = void (*)(std::size_t count, const void* a, const void* b, const void* c, void* out);

struct Operation {
  std::string_view name;
  int operands;
  Loop loop;  // null for what is drawn from a key
};

constexpr std::string_view kDraw = "random_bits_uint32";

// Truth values, as the words 0 and 1 and back.
void words_of_flags(const std::uint8_t* flags, std::size_t count, std::uint32_t* words);
void flags_of_words(const std::uint32_t* words, std::size_t count, std::uint8_t* flags);

// The operation of a name; null if there is none.
const Operation* find(std::string_view name);

// Calls `visit(name)` for each operation.
void for_each_name(void (*visit)(std::string_view name, void* data), void* data);

}  // namespace morphax::fused
