// Gamma numbers drawn from keys, by rejection.
#pragma once

#include <cstddef>
#include <cstdint>

namespace morphax::gamma {

// Numbers `first` to `first + count` of the stream of a key, or their logarithms, for a parameter
// each; `a` and `out` begin with that of number `first`.  Number is float, double or a narrow one
// as `half_numbers.h` has it stored, Key one of those in `draw_keys.h`.
template <typename Number, typename Key>
void draw(Key key, std::uint64_t first, std::size_t count, const Number* a, Number* out,
          bool log_space);

}  // namespace morphax::gamma
