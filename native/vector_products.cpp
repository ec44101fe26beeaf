// Products of matrices and vectors, and of vectors, in eager mode.
//
// Each element of a matrix is read once, so memory is the limit, and it is read in the order in
// which it lies: along rows, as sums of products; or along columns, as a sum of multiples of them.
// Sums are those of blocks, in order, whose places depend on the sizes alone, so the bits do not
// depend on threads.
#include "vector_products.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels.h"
#include "turned_squares.h"
#include "workers.h"

namespace morphax::products {

namespace {

// Products that are added up before their sum is added to those before.
constexpr std::int64_t kTerms = 8192;
constexpr std::int64_t kColumns = 256;
// Elements of a result whose sums stay in the cache while columns go by.
constexpr std::int64_t kRows = 256;
// Shorter rows have no vectors of their own.
constexpr std::int64_t kShortRow = 16;
// Pairs of short rows that are turned at a time: all of them stay in the nearest cache.
constexpr std::int64_t kPairs = 64;

template <typename T>
[[gnu::always_inline]] inline T sum_of_products(const T* a, const T* b, std::int64_t count) {
  typedef T Vector __attribute__((vector_size(32)));
  constexpr std::int64_t kLanes = 32 / sizeof(T), kSums = 4;
  Vector sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums * kLanes <= count; i += kSums * kLanes) {
#pragma GCC unroll 4
    for (std::int64_t j = 0; j < kSums; ++j) {
      Vector x, y;
      std::memcpy(&x, a + i + j * kLanes, sizeof(x));
      std::memcpy(&y, b + i + j * kLanes, sizeof(y));
      sums[j] += x * y;
    }
  }
  const Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  T sum = 0;
  for (std::int64_t j = 0; j < kLanes; ++j) sum += all[j];
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// Sums of products with short rows, as `sum_of_products` adds them: many rows side by side.
template <typename T>
[[gnu::always_inline]] inline void sums_of_rows(const T* a, std::int64_t down, std::int64_t rows,
                                                const T* x, std::int64_t count, T* sums) {
  T turned[kShortRow * kRows];
  turned_squares::turn_rows(a, down, rows, count, turned, kRows);
  for (std::int64_t i = 0; i < rows; ++i) sums[i] = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const T* column = turned + k * kRows;
    for (std::int64_t i = 0; i < rows; ++i) sums[i] += column[i] * x[k];
  }
}

// Elements of rows from `top` on, those of all rows at the same place side by side.
template <typename T>
[[gnu::always_inline]] inline void turn_pairs(const Matrix<T>& from, std::int64_t top,
                                              std::int64_t rows, T* to) {
  const T* first = from.first + top * from.down;
  if (from.across == 1)
    return turned_squares::turn_rows(first, from.down, rows, from.columns, to, kPairs);
  for (std::int64_t k = 0; k < from.columns; ++k) {
    for (std::int64_t i = 0; i < rows; ++i)
      to[k * kPairs + i] = first[i * from.down + k * from.across];
  }
}

// Sums of products of short rows with others, in their order; those of float32 in double precision,
// as the BLAS adds so few.
template <typename T>
[[gnu::always_inline]] inline void sums_of_pairs(const Matrix<T>& a, const Matrix<T>& b,
                                                 std::int64_t top, T* out) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, T>;
  const std::int64_t rows = std::min(kPairs, a.rows - top);
  T left[kShortRow * kPairs], right[kShortRow * kPairs];
  turn_pairs(a, top, rows, left);
  turn_pairs(b, top, rows, right);
  Sum sums[kPairs] = {};
  for (std::int64_t k = 0; k < a.columns; ++k) {
    const T *x = left + k * kPairs, *y = right + k * kPairs;
    for (std::int64_t i = 0; i < rows; ++i) sums[i] += static_cast<Sum>(x[i] * y[i]);
  }
  for (std::int64_t i = 0; i < rows; ++i) out[top + i] = static_cast<T>(sums[i]);
}

// Adds four columns, each times a number, to a vector.
template <typename T>
[[gnu::always_inline]] inline void add_columns(const T* a, std::int64_t across, const T* x,
                                               std::int64_t rows, T* sums) {
  const T *b = a + across, *c = b + across, *d = c + across;
  const T first = x[0], second = x[1], third = x[2], fourth = x[3];
  for (std::int64_t i = 0; i < rows; ++i)
    sums[i] += (a[i] * first + b[i] * second) + (c[i] * third + d[i] * fourth);
}

// Functions one by one: compilers make several versions of plain functions only.
#define MORPHAX_PRODUCTS(T)                                                                        \
  MORPHAX_VECTORIZED                                                                               \
  T along_row(const T* a, const T* b, std::int64_t count) { return sum_of_products(a, b, count); } \
  MORPHAX_VECTORIZED                                                                               \
  void along_short_rows(const T* a, std::int64_t down, std::int64_t rows, const T* x,              \
                        std::int64_t count, T* sums) {                                             \
    sums_of_rows(a, down, rows, x, count, sums);                                                   \
  }                                                                                                \
  MORPHAX_VECTORIZED                                                                               \
  void along_pairs(const Matrix<T>& a, const Matrix<T>& b, std::int64_t top, T* out) {             \
    sums_of_pairs(a, b, top, out);                                                                 \
  }                                                                                                \
  MORPHAX_VECTORIZED                                                                               \
  void add_four(const T* a, std::int64_t across, const T* x, std::int64_t rows, T* sums) {         \
    add_columns(a, across, x, rows, sums);                                                         \
  }
MORPHAX_PRODUCTS(float)
MORPHAX_PRODUCTS(double)
MORPHAX_PRODUCTS(std::uint32_t)
MORPHAX_PRODUCTS(std::uint64_t)
#undef MORPHAX_PRODUCTS

// Rows in one piece each; long ones by blocks, which threads share.
template <typename T>
void by_rows(const Matrix<T>& a, const T* x, T* out) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (a.columns + kTerms - 1) / kTerms);
  std::vector<T> sums(static_cast<std::size_t>(a.rows * blocks));
  in_pieces(a.rows * blocks, a.rows * a.columns, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t row = piece / blocks, begin = piece % blocks * kTerms;
      const std::int64_t count = std::min(kTerms, a.columns - begin);
      sums[static_cast<std::size_t>(piece)] =
          along_row(a.first + row * a.down + begin, x + begin, count);
    }
  });
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const T* of_row = sums.data() + row * blocks;
    out[row] = of_row[0];
    for (std::int64_t i = 1; i < blocks; ++i) out[row] += of_row[i];
  }
}

template <typename T>
void by_short_rows(const Matrix<T>& a, const T* x, T* out) {
  const std::int64_t pieces = (a.rows + kRows - 1) / kRows;
  in_pieces(pieces, a.rows * a.columns, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t top = first * kRows; top < std::min(last * kRows, a.rows); top += kRows) {
      const std::int64_t rows = std::min(kRows, a.rows - top);
      along_short_rows(a.first + top * a.down, a.down, rows, x, a.columns, out + top);
    }
  });
}

template <typename T>
void by_columns(const Matrix<T>& a, const T* x, T* out) {
  std::fill_n(out, a.rows, T{0});
  const std::int64_t pieces = (a.rows + kRows - 1) / kRows;
  in_pieces(pieces, a.rows * a.columns, [&](std::int64_t first, std::int64_t last) {
    T sums[kRows];
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t top = piece * kRows, rows = std::min(kRows, a.rows - top);
      for (std::int64_t begin = 0; begin < a.columns; begin += kColumns) {
        const std::int64_t end = std::min(begin + kColumns, a.columns);
        std::fill_n(sums, rows, T{0});
        std::int64_t k = begin;
        for (; k + 4 <= end; k += 4)
          add_four(a.first + top + k * a.across, a.across, x + k, rows, sums);
        for (; k < end; ++k) {
          const T* column = a.first + top + k * a.across;
          for (std::int64_t i = 0; i < rows; ++i) sums[i] += column[i] * x[k];
        }
        for (std::int64_t i = 0; i < rows; ++i) out[top + i] += sums[i];
      }
    }
  });
}

// Integers of 8 and 16 bits are widened as they are read: a copy of the matrix has four times as
// many bytes, or twice.  Sums are modulo the number of integers of `Sum`, in which nothing
// overflows.
template <typename Sum, typename Narrow>
[[gnu::always_inline]] inline Sum product_of(Narrow a, Narrow b) {
  return static_cast<Sum>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

template <typename Narrow, typename Sum>
[[gnu::always_inline]] inline void add_narrow_row(const Narrow* a, const Narrow* b,
                                                  std::int64_t count, Sum* out) {
  Sum sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum = static_cast<Sum>(sum + product_of<Sum>(a[i], b[i]));
  *out = sum;
}

template <typename Narrow, typename Sum>
[[gnu::always_inline]] inline void add_narrow_columns(const Narrow* a, std::int64_t across,
                                                      const Narrow* x, std::int64_t rows,
                                                      Sum* sums) {
  const Narrow *b = a + across, *c = b + across, *d = c + across;
  for (std::int64_t i = 0; i < rows; ++i)
    sums[i] = static_cast<Sum>(sums[i] + product_of<Sum>(a[i], x[0]) + product_of<Sum>(b[i], x[1]) +
                               product_of<Sum>(c[i], x[2]) + product_of<Sum>(d[i], x[3]));
}

#define MORPHAX_NARROW_PRODUCTS(T, Sum)                                                \
  MORPHAX_VECTORIZED_INTEGERS                                                          \
  void along_narrow_row(const T* a, const T* b, std::int64_t count, Sum* out) {        \
    add_narrow_row(a, b, count, out);                                                  \
  }                                                                                    \
  MORPHAX_VECTORIZED_INTEGERS                                                          \
  void add_four_narrow(const T* a, std::int64_t across, const T* x, std::int64_t rows, \
                       Sum* sums) {                                                    \
    add_narrow_columns(a, across, x, rows, sums);                                      \
  }
MORPHAX_NARROW_PRODUCTS(std::int8_t, std::uint16_t)
MORPHAX_NARROW_PRODUCTS(std::uint8_t, std::uint16_t)
MORPHAX_NARROW_PRODUCTS(std::int16_t, std::uint16_t)
MORPHAX_NARROW_PRODUCTS(std::uint16_t, std::uint16_t)
MORPHAX_NARROW_PRODUCTS(std::int8_t, std::uint32_t)
MORPHAX_NARROW_PRODUCTS(std::uint8_t, std::uint32_t)
MORPHAX_NARROW_PRODUCTS(std::int16_t, std::uint32_t)
MORPHAX_NARROW_PRODUCTS(std::uint16_t, std::uint32_t)
#undef MORPHAX_NARROW_PRODUCTS

template <typename Narrow, typename Sum>
void narrow_by_rows(const Matrix<Narrow>& a, const Narrow* x, Sum* out) {
  in_pieces(a.rows, a.rows * a.columns, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row)
      along_narrow_row(a.first + row * a.down, x, a.columns, out + row);
  });
}

template <typename Narrow, typename Sum>
void narrow_by_columns(const Matrix<Narrow>& a, const Narrow* x, Sum* out) {
  std::fill_n(out, a.rows, Sum{0});
  const std::int64_t pieces = (a.rows + kRows - 1) / kRows;
  in_pieces(pieces, a.rows * a.columns, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t top = first * kRows; top < std::min(last * kRows, a.rows); top += kRows) {
      const std::int64_t rows = std::min(kRows, a.rows - top);
      std::int64_t k = 0;
      for (; k + 4 <= a.columns; k += 4)
        add_four_narrow(a.first + top + k * a.across, a.across, x + k, rows, out + top);
      for (; k < a.columns; ++k) {
        const Narrow* column = a.first + top + k * a.across;
        for (std::int64_t i = 0; i < rows; ++i)
          out[top + i] = static_cast<Sum>(out[top + i] + product_of<Sum>(column[i], x[k]));
      }
    }
  });
}

template <typename T>
std::vector<T> in_row(const T* x, std::int64_t count, std::int64_t step) {
  std::vector<T> row(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) row[static_cast<std::size_t>(i)] = x[i * step];
  return row;
}

}  // namespace

template <typename T, typename Sum>
bool multiply_narrow_vector(const Matrix<T>& a, const T* x, std::int64_t step, Sum* out) {
  if (a.across != 1 && a.down != 1) return false;
  std::vector<T> copy;
  if (step != 1) {
    copy = in_row(x, a.columns, step);
    x = copy.data();
  }
  a.across == 1 ? narrow_by_rows(a, x, out) : narrow_by_columns(a, x, out);
  return true;
}

template <typename T>
void multiply_vector(const Matrix<T>& a, const T* x, std::int64_t step, T* out) {
  std::vector<T> vector;
  if (step != 1) {
    vector = in_row(x, a.columns, step);
    x = vector.data();
  }
  if (a.across == 1 && a.columns < kShortRow) return by_short_rows(a, x, out);
  if (a.across == 1 || a.columns == 1) return by_rows(a, x, out);
  if (a.down == 1 || a.rows == 1) return by_columns(a, x, out);
  std::vector<T> copy(static_cast<std::size_t>(a.rows * a.columns));
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k)
      copy[static_cast<std::size_t>(i * a.columns + k)] = a.first[i * a.down + k * a.across];
  }
  by_rows(Matrix<T>{copy.data(), a.rows, a.columns, a.columns, 1}, x, out);
}

template <typename T>
bool multiply_pairs(const Matrix<T>& a, const Matrix<T>& b, T* out) {
  if (a.columns >= kShortRow) return false;
  const std::int64_t pieces = (a.rows + kPairs - 1) / kPairs;
  in_pieces(pieces, a.rows * a.columns, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) along_pairs(a, b, piece * kPairs, out);
  });
  return true;
}

template bool multiply_narrow_vector(const Matrix<std::int8_t>&, const std::int8_t*, std::int64_t,
                                     std::uint16_t*);
template bool multiply_narrow_vector(const Matrix<std::uint8_t>&, const std::uint8_t*, std::int64_t,
                                     std::uint16_t*);
template bool multiply_narrow_vector(const Matrix<std::int16_t>&, const std::int16_t*, std::int64_t,
                                     std::uint16_t*);
template bool multiply_narrow_vector(const Matrix<std::uint16_t>&, const std::uint16_t*,
                                     std::int64_t, std::uint16_t*);
template bool multiply_narrow_vector(const Matrix<std::int8_t>&, const std::int8_t*, std::int64_t,
                                     std::uint32_t*);
template bool multiply_narrow_vector(const Matrix<std::uint8_t>&, const std::uint8_t*, std::int64_t,
                                     std::uint32_t*);
template bool multiply_narrow_vector(const Matrix<std::int16_t>&, const std::int16_t*, std::int64_t,
                                     std::uint32_t*);
template bool multiply_narrow_vector(const Matrix<std::uint16_t>&, const std::uint16_t*,
                                     std::int64_t, std::uint32_t*);
template bool multiply_pairs(const Matrix<float>&, const Matrix<float>&, float*);
template bool multiply_pairs(const Matrix<double>&, const Matrix<double>&, double*);
template bool multiply_pairs(const Matrix<std::uint32_t>&, const Matrix<std::uint32_t>&,
                             std::uint32_t*);
template bool multiply_pairs(const Matrix<std::uint64_t>&, const Matrix<std::uint64_t>&,
                             std::uint64_t*);
template void multiply_vector(const Matrix<float>&, const float*, std::int64_t, float*);
template void multiply_vector(const Matrix<double>&, const double*, std::int64_t, double*);
template void multiply_vector(const Matrix<std::uint32_t>&, const std::uint32_t*, std::int64_t,
                              std::uint32_t*);
template void multiply_vector(const Matrix<std::uint64_t>&, const std::uint64_t*, std::int64_t,
                              std::uint64_t*);

}  // namespace morphax::products
