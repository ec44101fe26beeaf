// Gamma numbers: the compiled form of `drawn_by_rejection` in `morphax/random/_gamma_numbers.py`.
//
// The steps are those of the program, rounded as XLA rounds them: products that are added are added
// in one step.  So both accept the same candidates.  Reference: Marsaglia & Tsang, "A simple method
// for generating gamma variables", ACM Transactions on Mathematical Software 26 (2000).
#include "gamma.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "elementary.h"
#include "kernels.h"
#include "threefry.h"

namespace morphax::gamma {

namespace nb = nanobind;
using elementary::bits_as;
using elementary::f32;
using elementary::inverse_erf;
using elementary::log1p;
using elementary::logarithm;
using elementary::u32;
using threefry::Words;

namespace {

constexpr f32 kThird = 1 / 3.0;
// From here on other threads may run meanwhile.
constexpr std::size_t kMany = 1 << 10;

// A number in [0, 1) with a random mantissa, the first of the stream of a key.
MORPHAX_INLINE f32 uniform(std::uint64_t key) {
  const std::uint64_t image = Words(key).image(0);
  const u32 bits = static_cast<u32>(image >> 32) ^ static_cast<u32>(image);
  return bits_as<f32>(bits >> 9 | u32{0x3f800000}) - 1;
}

MORPHAX_INLINE f32 normal(std::uint64_t key) {
  constexpr f32 kRootOfTwo = 1.41421356237309504880f, kAboveMinusOne = -0x1.fffffep-1f;
  const f32 u = std::max(kAboveMinusOne, uniform(key) * 2 + kAboveMinusOne);
  return kRootOfTwo * inverse_erf(u);
}

struct Candidate {
  f32 square, cube, u;
};

MORPHAX_INLINE bool is_rejected(const Candidate& it, f32 d) {
  const f32 squeeze = __builtin_fmaf(-0.0331f, it.square * it.square, 1);
  if (!(it.u >= squeeze)) return false;
  const f32 log_density = it.square * 0.5f + d * (1 - it.cube + logarithm(it.cube));
  return logarithm(it.u) >= log_density;
}

// (1 + c z)^3 of the first normal number z that makes it an accepted candidate.
MORPHAX_INLINE f32 accepted_cube(std::uint64_t key, f32 d, f32 c) {
  Candidate it{0, 1, 2};
  while (is_rejected(it, d)) {
    const Words words(key);
    std::uint64_t candidate = words.image(1);
    f32 z = 0, root = -1;
    while (root <= 0) {
      const Words inner(candidate);
      z = normal(inner.image(1));
      root = __builtin_fmaf(z, c, 1);
      candidate = inner.image(0);
    }
    it = {z * z, root * root * root, uniform(words.image(2))};
    key = words.image(0);
  }
  return it.cube;
}

MORPHAX_INLINE f32 drawn(std::uint64_t key, f32 a, bool log_space) {
  const bool is_large = a >= 1;
  const f32 d = (is_large ? a : a + 1) - kThird, c = kThird / __builtin_sqrtf(d);
  const Words words(key);
  const f32 cube = accepted_cube(words.image(0), d, c);
  constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
  const f32 log_d = d == kInfinity ? d : logarithm(d);
  if (is_large) return log_space ? log_d + logarithm(cube) : d * cube;
  const f32 u = uniform(words.image(1)), inverse = 1 / a;
  if (!log_space) {
    const double power = std::pow(static_cast<double>(1 - u), static_cast<double>(inverse));
    return d * cube * static_cast<f32>(power);
  }
  const f32 logarithm_of_u = log1p(-u);
  // 0 times infinity would be NaN where a is 0.
  const f32 boost = logarithm_of_u == 0 ? 0 : logarithm_of_u * inverse;
  return log_d + logarithm(cube) + boost;
}

MORPHAX_VECTORIZED
void draw_row(std::uint64_t key, std::size_t count, const f32* a, f32* out, bool log_space) {
  const Words words(key);
  for (std::size_t i = 0; i < count; ++i) out[i] = drawn(words.image(i), a[i], log_space);
}

using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Parameters = nb::ndarray<const f32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<f32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Fills row i of `out` with a number for each parameter in row i of `a`, all from key i.
void draw(Keys keys, Parameters a, Numbers out, bool log_space) {
  const std::uint64_t* key = keys.data();
  const f32* parameters = a.data();
  f32* numbers = out.data();
  const std::size_t rows = std::min({keys.shape(0), a.shape(0), out.shape(0)});
  const std::size_t columns = std::min(a.shape(1), out.shape(1));
  const auto fill = [&] {
    for (std::size_t i = 0; i < rows; ++i) {
      draw_row(key[i], columns, parameters + i * a.shape(1), numbers + i * out.shape(1), log_space);
    }
  };
  if (rows * columns < kMany) return fill();
  const nb::gil_scoped_release others_run;
  fill();
}

}  // namespace

void bind(nb::module_& module) {
  module.def("draw_gamma", &draw, nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg());
}

}  // namespace morphax::gamma
