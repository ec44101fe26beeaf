// NaN for all that a NaN in a factorisation of a matrix has a part in.
//
// LAPACK leaves out rows where it would multiply by zero, and does not divide by a pivot that is
// NaN, so that finite numbers are left which depend on one that is none.  Its iterations may not
// end on NaN or infinity, and never see them.  OpenBLAS does not divide by a subnormal pivot
// either, nor exchange its row.  Matrices lie by columns; a complex number has two parts.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace morphax::nan_spread {

// The number of the first NaN among `count` numbers that lie `step` apart; `count` if there is
// none.
template <typename T>
std::size_t first_nan(const T* numbers, std::size_t count, std::size_t step, std::size_t parts) {
  for (std::size_t k = 0; k < count; ++k) {
    const T* number = numbers + k * step * parts;
    if (std::isnan(number[0]) || std::isnan(number[parts - 1])) return k;
  }
  return count;
}

// NaN from a row and a column on.
template <typename T>
void fill(T* numbers, std::size_t rows, std::size_t columns, std::size_t parts, std::size_t row,
          std::size_t column) {
  for (std::size_t j = column; j < columns; ++j) {
    std::fill(numbers + (j * rows + row) * parts, numbers + (j + 1) * rows * parts,
              std::numeric_limits<T>::quiet_NaN());
  }
}

// Whether the numbers below a pivot were left as they are: quotients of subnormal numbers are not
// subnormal.
template <typename T>
bool is_undivided(const T* pivot, std::size_t below, std::size_t parts) {
  const auto is_small = [](T x) { return std::abs(x) < std::numeric_limits<T>::min(); };
  const auto is_subnormal = [&](T x) { return x != T(0) && is_small(x); };
  return std::all_of(pivot, pivot + parts, is_small) &&
         std::any_of(pivot + parts, pivot + (below + 1) * parts, is_subnormal);
}

// Of LU factors.
template <typename T>
void after_pivot(T* numbers, std::size_t rows, std::size_t columns, std::size_t parts) {
  const std::size_t count = std::min(rows, columns);
  const std::size_t nan = first_nan(numbers, count, rows + 1, parts);
  for (std::size_t k = 0; k < nan; ++k) {
    if (is_undivided(numbers + k * (rows + 1) * parts, rows - 1 - k, parts)) {
      return fill(numbers, rows, columns, parts, k, k);  // this may be another row than was meant
    }
  }
  if (nan < count) fill(numbers, rows, columns, parts, nan + 1, nan);
}

// Of reflections and their `count` scalars.
template <typename T>
void after_reflection(T* numbers, std::size_t rows, std::size_t columns, std::size_t parts,
                      T* scalars, std::size_t count) {
  const std::size_t k = first_nan(scalars, count, 1, parts);
  if (k == count) return;
  fill(numbers, rows, columns, parts, k, k);
  std::fill(scalars + k * parts, scalars + count * parts, std::numeric_limits<T>::quiet_NaN());
}

// Zeros in place of numbers that are not all finite; whether it has come to that.
template <typename T>
bool zero_unless_finite(T* numbers, std::size_t count) {
  // Zero times a number is 0 if that is finite, else NaN; sums side by side are vectors.
  constexpr std::size_t kWidth = 16;
  T sums[kWidth] = {};
  std::size_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    for (std::size_t j = 0; j < kWidth; ++j) sums[j] += numbers[i + j] * T(0);
  }
  T sum = 0;
  for (; i < count; ++i) sum += numbers[i] * T(0);
  for (const T part : sums) sum += part;
  if (sum == T(0)) return false;
  std::fill(numbers, numbers + count, T(0));
  return true;
}

// Whether a Cholesky factor has NaN on its diagonal: a failure.
template <typename T>
bool has_failed(const T* numbers, std::size_t size, std::size_t parts) {
  return first_nan(numbers, size, size + 1, parts) < size;
}

void bind(nanobind::module_& module);

}  // namespace morphax::nan_spread
