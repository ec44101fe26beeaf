// Places in sorted vectors, where values are to be inserted; the twin is NumPy's `searchsorted`.
//
// The range is halved as often as the length of the vector says, for a block of values at a time
// and without a jump that a processor might guess wrongly: so steps do not wait for each other.
#include "searching.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "process_end.h"
#include "workers.h"

namespace morphax::searching {

namespace nb = nanobind;

namespace {

template <typename T>
using Numbers = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Whether `element` is in front of `value`, or with it if `kBehind`; NaN is the last of all.
template <bool kBehind, typename T>
int is_before(T element, T value) {
  const int is_before = kBehind ? element <= value : element < value;
  if constexpr (std::numeric_limits<T>::has_quiet_NaN) {
    return is_before |
           (static_cast<int>(value != value) & (kBehind | static_cast<int>(element == element)));
  }
  return is_before;
}

template <bool kBehind, typename T>
void find(const T* sorted, std::int64_t size, const T* values, std::int64_t count,
          std::int32_t* places) {
  constexpr std::int64_t kBlock = 256;
  for (std::int64_t start = 0; start < count; start += kBlock) {
    const std::int64_t block = std::min(kBlock, count - start);
    const T* value = values + start;
    std::int32_t* at = places + start;
    std::fill_n(at, block, 0);
    for (std::int64_t left = size; left > 1; left -= left / 2) {
      const auto half = static_cast<std::int32_t>(left / 2);
      for (std::int64_t i = 0; i < block; ++i)
        at[i] += half * is_before<kBehind>(sorted[at[i] + half - 1], value[i]);
    }
    for (std::int64_t i = 0; i < block; ++i) at[i] += is_before<kBehind>(sorted[at[i]], value[i]);
  }
}

template <typename T>
void places_of(Numbers<T> sorted, Numbers<T> values, bool behind, Places out) {
  const auto size = static_cast<std::int64_t>(sorted.size());
  const auto count = static_cast<std::int64_t>(values.size());
  if (size == 0 || sorted.size() > kMostPlaces || values.size() != out.size())
    throw nb::value_error("places of other counts, or in a vector that is empty or too long");
  const T *of = sorted.data(), *from = values.data();
  std::int32_t* to = out.data();
  const process_end::OthersRun others_run;
  in_parts(count, [&](std::int64_t begin, std::int64_t end) {
    const auto search = behind ? find<true, T> : find<false, T>;
    search(of, size, from + begin, end - begin, to + begin);
  });
}

template <typename T>
void bind_of(nb::module_& module) {
  module.def("places", &places_of<T>, nb::arg("sorted"), nb::arg("values"), nb::arg("behind"),
             nb::arg("out"), "Write where values are to be inserted, behind their equals or not.");
}

}  // namespace

void places_behind(const float* sorted, std::int64_t size, const float* values, std::int64_t count,
                   std::int32_t* places) {
  find<true>(sorted, size, values, count, places);
}
void places_behind(const double* sorted, std::int64_t size, const double* values,
                   std::int64_t count, std::int32_t* places) {
  find<true>(sorted, size, values, count, places);
}

void bind(nb::module_& module) {
  bind_of<float>(module);
  bind_of<double>(module);
  bind_of<std::int32_t>(module);
  bind_of<std::int64_t>(module);
}

}  // namespace morphax::searching
