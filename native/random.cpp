// Numbers drawn from keys: the compiled twin of `_draw` in `morphax/lax/random/random_bits.py`.
#include "random.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>

#include "kernels.h"
#include "threefry.h"

namespace morphax::random {

namespace nb = nanobind;
using threefry::Words;

namespace {

// Counters that are encrypted together: their images stay in the first cache.
constexpr std::size_t kBlock = 1024;
// From here on other threads may run meanwhile.
constexpr std::size_t kMany = 1 << 14;

// The images of the pairs (high, low), (high, low + 1), …
MORPHAX_VECTORIZED
void encrypt(std::uint64_t key, std::uint32_t high, std::uint32_t low, std::size_t count,
             std::uint32_t* first, std::uint32_t* second) {
  const Words words(key);
  for (std::size_t i = 0; i < count; ++i) {
    first[i] = high, second[i] = low + static_cast<std::uint32_t>(i);
    words.encrypt(first[i], second[i]);
  }
}

// 64-bit numbers are the image; narrower ones are low bits of the sum of its words without carry.
template <typename T>
void combine(const std::uint32_t* first, const std::uint32_t* second, std::size_t count, T* out) {
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 8) {
      out[i] = static_cast<std::uint64_t>(first[i]) << 32 | second[i];
    } else {
      out[i] = static_cast<T>(first[i] ^ second[i]);
    }
  }
}

// A block begins at a multiple of its size, so all its counters have one high word.
template <typename T>
void draw_block(std::uint64_t key, std::uint64_t start, std::size_t count, T* out) {
  std::uint32_t first[kBlock], second[kBlock];
  encrypt(key, static_cast<std::uint32_t>(start >> 32), static_cast<std::uint32_t>(start), count,
          first, second);
  combine(first, second, count, out);
}

template <typename T>
void draw_stream(std::uint64_t key, std::size_t count, T* out) {
  for (std::uint64_t start = 0; start < count; start += kBlock) {
    draw_block(key, start, std::min<std::size_t>(kBlock, count - start), out + start);
  }
}

using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Numbers = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Fills row i of `out` with the stream of key i.
template <typename T>
void draw(Keys keys, Numbers<T> out) {
  const std::uint64_t* key = keys.data();
  T* numbers = out.data();
  const std::size_t rows = std::min(keys.shape(0), out.shape(0)), columns = out.shape(1);
  const auto fill = [&] {
    for (std::size_t i = 0; i < rows; ++i) draw_stream(key[i], columns, numbers + i * columns);
  };
  if (rows * columns < kMany) return fill();
  const nb::gil_scoped_release others_run;
  fill();
}

}  // namespace

void draw_words(std::uint64_t key, std::uint64_t start, std::size_t count, std::uint32_t* out) {
  draw_block(key, start, count, out);
}

void bind(nb::module_& module) {
  module.def("draw", &draw<std::uint8_t>, nb::arg(), nb::arg().noconvert());
  module.def("draw", &draw<std::uint16_t>, nb::arg(), nb::arg().noconvert());
  module.def("draw", &draw<std::uint32_t>, nb::arg(), nb::arg().noconvert());
  module.def("draw", &draw<std::uint64_t>, nb::arg(), nb::arg().noconvert());
}

}  // namespace morphax::random
