#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

namespace morphax::random {

// Numbers `start`, `start` + 1, … of the stream of a key, at most 1024 of them; `start` is a
// multiple of the greatest number that is asked for.
void draw_words(std::uint64_t key, std::uint64_t start, std::size_t count, std::uint32_t* out);
void draw_words(std::uint64_t key, std::uint64_t start, std::size_t count, std::uint64_t* out);

void bind(nanobind::module_& module);
void bind_handler_of_bits(nanobind::module_& module);

}  // namespace morphax::random
