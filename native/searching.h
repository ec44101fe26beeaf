// Places in sorted vectors.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace morphax::searching {

inline constexpr std::size_t kMostPlaces = std::numeric_limits<std::int32_t>::max();

// Where values are to be inserted in a sorted vector, behind their equals.
void places_behind(const float* sorted, std::int64_t size, const float* values, std::int64_t count,
                   std::int32_t* places);
void places_behind(const double* sorted, std::int64_t size, const double* values,
                   std::int64_t count, std::int32_t* places);

void bind(nanobind::module_& module);

}  // namespace morphax::searching
