// Poisson and binomial numbers drawn from keys.
#pragma once

#include <cstddef>
#include <cstdint>

namespace morphax::counts {

// The first numbers of the stream of a key, one for each of the parameters.  T is float or double.
void draw_poisson(std::uint64_t key, std::size_t count, const float* rates, float* out);
template <typename T>
void draw_binomial(std::uint64_t key, std::size_t count, const T* n, const T* p, T* out);

}  // namespace morphax::counts
