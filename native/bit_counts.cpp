// How many bits of integers are set, as bytes.
//
// NumPy counts number by number.  The twin is `jnp.bitwise_count` (`morphax/numpy/logic.py`).
#include "bit_counts.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <cstdint>

#include "kernels.h"
#include "objects.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::bit_counts {

namespace {

// Bits are added to their neighbours, pairs to pairs, and half bytes at once.
template <typename Bits>
[[gnu::always_inline]] inline std::uint8_t count_of(Bits x) {
  constexpr Bits kOnes = ~Bits{0};
  x -= (x >> 1) & (kOnes / 3);
  x = (x & (kOnes / 5)) + ((x >> 2) & (kOnes / 5));
  x = (x + (x >> 4)) & (kOnes / 17);
  x += x >> 8, x += x >> 16;
  if constexpr (sizeof(Bits) == sizeof(std::uint64_t)) x += x >> 32;
  return static_cast<std::uint8_t>(x);
}

MORPHAX_VECTORIZED_INTEGERS
void of_words(const std::int32_t* numbers, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(numbers[i]);
    const std::uint32_t magnitude = numbers[i] < 0 ? 0 - bits : bits;
    out[i] = count_of(magnitude);
  }
}

MORPHAX_VECTORIZED_INTEGERS
void of_wide(const std::int64_t* numbers, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint64_t>(numbers[i]);
    const std::uint64_t magnitude = numbers[i] < 0 ? 0 - bits : bits;
    out[i] = count_of(magnitude);
  }
}

// Newer processors count the bits of each number of a vector in one step.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define MORPHAX_COUNTING \
  __attribute__((target("avx512bw,avx512vl,avx512vpopcntdq"), optimize("O3")))

MORPHAX_COUNTING
void of_words_in_one_step(const std::int32_t* numbers, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(numbers[i]);
    out[i] = static_cast<std::uint8_t>(__builtin_popcount(numbers[i] < 0 ? 0 - bits : bits));
  }
}

MORPHAX_COUNTING
void of_wide_in_one_step(const std::int64_t* numbers, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint64_t>(numbers[i]);
    out[i] = static_cast<std::uint8_t>(__builtin_popcountll(numbers[i] < 0 ? 0 - bits : bits));
  }
}

bool counts_in_one_step() {
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vpopcntdq");
}

const bool kInOneStep = counts_in_one_step();
const auto words = kInOneStep ? of_words_in_one_step : of_words;
const auto wide = kInOneStep ? of_wide_in_one_step : of_wide;
#else
const auto words = of_words;
const auto wide = of_wide;
#endif

// The bits of |x| of an array of int32 or int64.
nb::object bit_counts(nb::handle x) {
  if (!PyArray_Check(x.ptr())) throw nb::type_error("bits are counted of arrays");
  const nb::object in_order = checked(PyArray_FROM_OF(x.ptr(), NPY_ARRAY_CARRAY_RO));
  auto* given = reinterpret_cast<PyArrayObject*>(in_order.ptr());
  const bool is_wide = PyArray_ITEMSIZE(given) == sizeof(std::int64_t);
  if (!PyTypeNum_ISSIGNED(PyArray_TYPE(given)) ||
      (!is_wide && PyArray_ITEMSIZE(given) != sizeof(std::int32_t)))
    throw nb::type_error("bits of another dtype");
  const nb::object result =
      checked(PyArray_EMPTY(PyArray_NDIM(given), PyArray_DIMS(given), NPY_UINT8, 0));
  const void* numbers = PyArray_DATA(given);
  auto* out =
      static_cast<std::uint8_t*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.ptr())));
  const process_end::OthersRun others_run;
  in_parts(PyArray_SIZE(given), [&](std::int64_t begin, std::int64_t end) {
    if (is_wide) {
      wide(static_cast<const std::int64_t*>(numbers) + begin, end - begin, out + begin);
    } else {
      words(static_cast<const std::int32_t*>(numbers) + begin, end - begin, out + begin);
    }
  });
  return result;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("bit_counts", &bit_counts, nb::arg("x"), "How many bits of |x| are set.");
}

}  // namespace morphax::bit_counts
