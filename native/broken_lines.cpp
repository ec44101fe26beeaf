// Values of broken lines: `jnp.interp` of many numbers, in one pass.
//
// What the program works out for each number is worked out once for each piece of the line, in the
// same steps.  The twin is that program (`morphax/numpy/interpolation.py`).
#include "broken_lines.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "elementary.h"
#include "kernels.h"
#include "process_end.h"
#include "searching.h"
#include "workers.h"

namespace morphax::broken_lines {

namespace nb = nanobind;

namespace {

template <typename T>
using Numbers = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Results = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr std::int64_t kBlock = 512;
// Of so few points those in front are counted, which vectors do at once.
constexpr std::int64_t kFewPoints = 32;

template <typename T>
struct Line {
  std::vector<T> starts, values, slopes;
  std::vector<std::int32_t> is_flat, is_endless;
  T first, last, before, behind;

  Line(const T* xs, const T* ys, std::size_t points)
      : first(xs[0]), last(xs[points - 1]), before(ys[0]), behind(ys[points - 1]) {
    for (std::size_t i = 0; i + 1 < points; ++i) {
      const T width = xs[i + 1] - xs[i];
      const T rise = ys[i + 1] - ys[i], slope = rise / (width == 0 ? 1 : width);
      // Two points at one place, or so near that there is no slope.
      is_flat.push_back(width == 0 || (std::isinf(slope) && std::isfinite(rise)));
      is_endless.push_back(std::isinf(rise));
      starts.push_back(xs[i]), values.push_back(ys[i]), slopes.push_back(slope);
    }
  }
};

// How many points are not behind each number; NaN is behind all.
template <typename T>
MORPHAX_INLINE void count(const T* xs, std::int64_t points, const T* x, std::int64_t size,
                          std::int32_t* counts) {
  std::fill_n(counts, size, 0);
  for (std::int64_t j = 0; j < points; ++j) {
    const T point = xs[j];
    for (std::int64_t i = 0; i < size; ++i) counts[i] += (point <= x[i]) | (x[i] != x[i]);
  }
}

template <typename T>
MORPHAX_INLINE void values_of(const Line<T>& line, const T* x, std::int64_t size,
                              const std::int32_t* counts, T* out) {
  // Read before anything is written, lest a result be taken for part of the line.
  const T *starts = line.starts.data(), *values = line.values.data(), *slopes = line.slopes.data();
  const std::int32_t *is_flat = line.is_flat.data(), *is_endless = line.is_endless.data();
  const T first = line.first, last = line.last, before = line.before, behind = line.behind;
  const auto most = static_cast<std::int32_t>(line.starts.size()) - 1;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int32_t count = counts[i] - 1, piece = count < 0 ? 0 : count > most ? most : count;
    const T at = x[i], level = values[piece], distance = at - starts[piece];
    const bool is_level = (is_flat[piece] != 0) | ((is_endless[piece] != 0) & (distance == 0));
    const T value = is_level ? level : level + distance * slopes[piece];
    const T from_left = at < first ? before : value;
    out[i] = at > last ? behind : from_left;
  }
}

// Compilers make several versions of plain functions only.
MORPHAX_VECTORIZED_INTEGERS
void counts_of(const float* xs, std::int64_t points, const float* x, std::int64_t size,
               std::int32_t* counts) {
  count(xs, points, x, size, counts);
}
MORPHAX_VECTORIZED_INTEGERS
void counts_of(const double* xs, std::int64_t points, const double* x, std::int64_t size,
               std::int32_t* counts) {
  count(xs, points, x, size, counts);
}
MORPHAX_VECTORIZED_INTEGERS
void values_at(const Line<float>& line, const float* x, std::int64_t size,
               const std::int32_t* counts, float* out) {
  values_of(line, x, size, counts, out);
}
MORPHAX_VECTORIZED_INTEGERS
void values_at(const Line<double>& line, const double* x, std::int64_t size,
               const std::int32_t* counts, double* out) {
  values_of(line, x, size, counts, out);
}

template <typename T>
void interpolated(Numbers<T> xs, Numbers<T> ys, Numbers<T> x, Results<T> out) {
  if (xs.size() < 2 || xs.size() != ys.size() || x.size() != out.size() ||
      xs.size() > searching::kMostPlaces)
    throw nb::value_error("a line through other points, or results of another size");
  const Line<T> line(xs.data(), ys.data(), xs.size());
  const auto points = static_cast<std::int64_t>(xs.size());
  const T *sorted = xs.data(), *from = x.data();
  T* to = out.data();
  const auto size = static_cast<std::int64_t>(x.size());
  const process_end::OthersRun others_run;
  in_parts(size, [&](std::int64_t begin, std::int64_t end) {
    std::int32_t counts[kBlock];
    for (std::int64_t start = begin; start < end; start += kBlock) {
      const std::int64_t block = std::min(kBlock, end - start);
      if (points <= kFewPoints) {
        counts_of(sorted, points, from + start, block, counts);
      } else {
        searching::places_behind(sorted, points, from + start, block, counts);
      }
      values_at(line, from + start, block, counts, to + start);
    }
  });
}

template <typename T>
void bind_of(nb::module_& module) {
  module.def("interpolated", &interpolated<T>, nb::arg("xs"), nb::arg("ys"), nb::arg("x"),
             nb::arg("out"), "Write values of the line through points, level outside of them.");
}

}  // namespace

void bind(nb::module_& module) {
  bind_of<float>(module);
  bind_of<double>(module);
}

}  // namespace morphax::broken_lines
