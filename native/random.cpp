// Numbers drawn from keys: the compiled twin of `_draw` in `morphax/lax/random/random_bits.py`, and
// what programs for the CPU call.
#include "random.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>

#include "kernels.h"
#include "parts.h"
#include "process_end.h"
#include "threefry.h"
#include "workers.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace morphax::random {

namespace nb = nanobind;
namespace ffi = xla::ffi;
using threefry::Words;

namespace {

// Counters that are encrypted together: their images stay in the first cache.
constexpr std::int64_t kBlock = 1024;
// From here on other threads may run meanwhile.
constexpr std::int64_t kMany = 1 << 14;

// The images of the pairs (high, low), (high, low + 1), …
MORPHAX_VECTORIZED_INTEGERS
void encrypt(std::uint64_t key, std::uint32_t high, std::uint32_t low, std::size_t count,
             std::uint32_t* first, std::uint32_t* second) {
  const Words words(key);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); ++i) {
    // In registers: the compiler cannot know that the images do not overlap.
    std::uint32_t x0 = high, x1 = low + i;
    words.encrypt(x0, x1);
    first[i] = x0, second[i] = x1;
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

// Numbers `begin` to `end` of a stream; `begin` is a multiple of `kBlock`.
template <typename T>
void draw_stream(std::uint64_t key, std::int64_t begin, std::int64_t end, T* out) {
  for (std::int64_t start = begin; start < end; start += kBlock) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(kBlock, end - start));
    draw_block(key, static_cast<std::uint64_t>(start), count, out + start);
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
  const auto rows = static_cast<std::int64_t>(std::min(keys.shape(0), out.shape(0)));
  const auto columns = static_cast<std::int64_t>(out.shape(1));
  const auto fill = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      draw_stream(key[i], 0, columns, numbers + i * columns);
  };
  if (rows * columns < kMany) return fill(0, rows);
  const process_end::OthersRun others_run;
  if (rows != 1) return in_pieces(rows, rows * columns, fill);
  in_parts(columns,
           [&](std::int64_t begin, std::int64_t end) { draw_stream(*key, begin, end, numbers); });
}

// Fill a buffer that has a row for each key; the blocks of all rows are divided among threads.
template <typename T>
ffi::Error draw_all(ffi::ThreadPool& pool, const ffi::Buffer<ffi::U64>& keys, ffi::AnyBuffer& out) {
  const auto rows = static_cast<std::int64_t>(keys.element_count());
  const auto size = static_cast<std::int64_t>(out.element_count());
  if (rows == 0 || size % rows != 0) {
    return ffi::Error::InvalidArgument("random bits for another number of keys");
  }
  const std::int64_t columns = size / rows, blocks = (columns + kBlock - 1) / kBlock;
  const std::int64_t most = std::clamp<std::int64_t>(size / kMany, 1, pool.num_threads());
  const std::uint64_t* key = keys.typed_data();
  T* numbers = static_cast<T*>(out.untyped_data());
  parts::divided(pool, most, [&](std::int64_t part) {
    const std::int64_t first = rows * blocks * part / most,
                       last = rows * blocks * (part + 1) / most;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = i / blocks, begin = i % blocks * kBlock;
      draw_stream(key[row], begin, std::min(begin + kBlock, columns), numbers + row * columns);
    }
  });
  return ffi::Error::Success();
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::Buffer<ffi::U64> keys,
                         ffi::Result<ffi::AnyBuffer> out) {
  switch (out->element_type()) {
    case ffi::U8:
      return draw_all<std::uint8_t>(pool, keys, *out);
    case ffi::U16:
      return draw_all<std::uint16_t>(pool, keys, *out);
    case ffi::U32:
      return draw_all<std::uint32_t>(pool, keys, *out);
    case ffi::U64:
      return draw_all<std::uint64_t>(pool, keys, *out);
    default:
      return ffi::Error::InvalidArgument("random bits of another dtype");
  }
}

XLA_FFI_DEFINE_HANDLER(
    handler, Guarded<call_from_xla>{},
    ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<ffi::Buffer<ffi::U64>>().Ret<ffi::AnyBuffer>());

}  // namespace

void draw_words(std::uint64_t key, std::uint64_t start, std::size_t count, std::uint32_t* out) {
  draw_block(key, start, count, out);
}
void draw_words(std::uint64_t key, std::uint64_t start, std::size_t count, std::uint64_t* out) {
  draw_block(key, start, count, out);
}

void bind(nb::module_& module) {
  // They are tried in this order, for a third of a microsecond each: keys are drawn most.
  module.def("draw", &draw<std::uint64_t>, nb::arg(), nb::arg().noconvert());
  module.def("draw", &draw<std::uint32_t>, nb::arg(), nb::arg().noconvert());
  module.def("draw", &draw<std::uint16_t>, nb::arg(), nb::arg().noconvert());
  module.def("draw", &draw<std::uint8_t>, nb::arg(), nb::arg().noconvert());
}

void bind_handler_of_bits(nb::module_& module) {
  bind_handler(module, handler, "XLA's way to the bits, as a capsule.");
}

}  // namespace morphax::random
