// The order of rows after exchanges.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace morphax::row_orders {

// Row i is exchanged with row `pivots[i]`, one after another; rows are counted from `first`, and
// places beyond the first and the last row count as these.
inline void after_exchanges(const std::int32_t* pivots, std::int64_t exchanges, std::int32_t* order,
                            std::int64_t rows, std::int32_t first) {
  const auto last = static_cast<std::int32_t>(rows) - 1;
  std::iota(order, order + rows, 0);
  for (std::int64_t i = 0; i < exchanges; ++i) {
    // In this order: the smallest integer less 1 would be the largest.
    const std::int32_t other = std::clamp(pivots[i], first, first + last) - first;
    std::swap(order[i], order[other]);
  }
}

void bind(nanobind::module_& module);

}  // namespace morphax::row_orders
