// Random bits by Philox-4x32 with 10 rounds: the compiled form of `morphax/lax/random/philox.py`,
// for eager mode and for compiled programs on the CPU.
//
// XLA writes the rounds out as operations, of which its loops load the words of the key anew for
// each counter.  Here several counters go through the rounds together, in vectors.
#include "philox.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels.h"
#include "parts.h"
#include "philox_rounds.h"
#include "process_end.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace morphax::philox {

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::int64_t kTogether = 64;            // counters
constexpr std::int64_t kWords = 4 * kTogether;    // of their images
constexpr std::int64_t kWorthDividing = 1 << 14;  // counters

// The images of counters, of which `low` is the low half of the first: all first words,
// then all second ones and so on.
MORPHAX_VECTORIZED_INTEGERS
void encrypt(u64 key, u64 low, u64 high, std::int64_t count, u32 (*images)[kTogether]) {
  for (std::int64_t i = 0; i < count; ++i) {
    const u64 here = low + static_cast<u64>(i), above = high + (here < low);
    u32 w0 = static_cast<u32>(here), w1 = static_cast<u32>(here >> 32);
    u32 w2 = static_cast<u32>(above), w3 = static_cast<u32>(above >> 32);
    u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < kRounds; ++round) {
      mix(w0, w1, w2, w3, k0, k1);
      k0 += kSteps[0], k1 += kSteps[1];
    }
    images[0][i] = w0, images[1][i] = w1, images[2][i] = w2, images[3][i] = w3;
  }
}

// The words of images one after another.
MORPHAX_VECTORIZED_INTEGERS
void interleave(const u32 (*images)[kTogether], std::int64_t count, u32* words) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < 4; ++j) words[4 * i + j] = images[j][i];
  }
}

// How many numbers an image gives: those of 64 bits take two words, low word first.
template <typename T>
constexpr std::int64_t kNumbers = sizeof(T) == 8 ? 2 : 4;

// Numbers number `first` to `last` of a stream; `first` is that of an image.
template <typename T>
void fill(u64 key, u64 counter, std::int64_t first, std::int64_t last, T* out) {
  u32 images[4][kTogether], words[kWords];
  constexpr std::int64_t kStep = kTogether * kNumbers<T>;
  for (; first < last; first += kStep) {
    const u64 low = counter + static_cast<u64>(first / kNumbers<T>);
    const std::int64_t count = std::min(kStep, last - first);
    const std::int64_t needed = (count + kNumbers<T> - 1) / kNumbers<T>;
    const std::int64_t in_vectors = (needed + 7) / 8 * 8;
    encrypt(key, low, key + (low < counter), in_vectors, images);
    interleave(images, in_vectors, words);
    if (sizeof(T) >= 4) {
      std::memcpy(out + first, words, static_cast<std::size_t>(count) * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[first + i] = static_cast<T>(words[i]);
    }
  }
}

template <typename T>
void fill_array(u64 key, u64 counter,
                nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
  const process_end::OthersRun others_run;
  fill<T>(key, counter, 0, static_cast<std::int64_t>(out.size()), out.data());
}

// Fill a buffer, and return how many counters that took.
template <typename T>
u64 divide(ffi::ThreadPool& pool, u64 key, u64 counter, ffi::Result<ffi::AnyBuffer>& bits) {
  const auto size = static_cast<std::int64_t>(bits->element_count());
  const std::int64_t images = (size + kNumbers<T> - 1) / kNumbers<T>;
  const std::int64_t most =
      std::clamp<std::int64_t>(images / kWorthDividing, 1, pool.num_threads());
  parts::divided(pool, most, [&](std::int64_t part) {
    const std::int64_t first = images * part / most, last = images * (part + 1) / most;
    fill<T>(key, counter, first * kNumbers<T>, std::min(size, last * kNumbers<T>),
            static_cast<T*>(bits->untyped_data()));
  });
  return static_cast<u64>(images);
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::Buffer<ffi::U64> state,
                         ffi::Result<ffi::Buffer<ffi::U64>> after,
                         ffi::Result<ffi::AnyBuffer> bits) {
  if (state.element_count() != 2 || after->element_count() != 2) {
    return ffi::Error::InvalidArgument("a random state of another size");
  }
  const u64 key = state.typed_data()[0], counter = state.typed_data()[1];
  u64 images = 0;
  switch (bits->element_type()) {
    case ffi::U8:
      images = divide<std::uint8_t>(pool, key, counter, bits);
      break;
    case ffi::U16:
      images = divide<std::uint16_t>(pool, key, counter, bits);
      break;
    case ffi::U32:
      images = divide<u32>(pool, key, counter, bits);
      break;
    case ffi::U64:
      images = divide<u64>(pool, key, counter, bits);
      break;
    default:
      return ffi::Error::InvalidArgument("random bits of another dtype");
  }
  after->typed_data()[0] = key;
  after->typed_data()[1] = counter + images;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::Buffer<ffi::U64>>()
                           .Ret<ffi::Buffer<ffi::U64>>()
                           .Ret<ffi::AnyBuffer>());

}  // namespace

void bind(nb::module_& module) {
  const auto whole = nb::arg().noconvert();
  module.def("fill", &fill_array<std::uint8_t>, nb::arg(), nb::arg(), whole);
  module.def("fill", &fill_array<std::uint16_t>, nb::arg(), nb::arg(), whole);
  module.def("fill", &fill_array<u32>, nb::arg(), nb::arg(), whole);
  module.def("fill", &fill_array<u64>, nb::arg(), nb::arg(), whole);
  bind_handler(module, handler, "XLA's way to the bits, as a capsule.");
}

}  // namespace morphax::philox
