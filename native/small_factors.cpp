// Factorisations of small real matrices by rows.
//
// Of 30 rows the library spends most of its time on calls of its own kernels, and on the copies
// into columns and back.  Here what is subtracted from a row is a multiple of another one, whole
// vectors at a time: rows lie in memory of their own, filled up with zeros.
//
// Only ordinary matrices are done so: where a number is not finite, or a pivot or a norm so large
// or so small that its reciprocal or its square loses digits, the library's steps are taken
// instead, with what they do about it.
//
// Reference: Golub & Van Loan, "Matrix Computations", 4th edition, sections 3.4, 4.2 and 5.2.
#include "small_factors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace morphax::small_factors {

namespace {

// The reciprocals of ordinary pivots are ordinary, too.
template <typename T>
constexpr T kLeastPivot = std::numeric_limits<T>::min() * 16;

#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")

template <typename T, int kBytes>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kBytes)));
  static constexpr std::size_t kCount = kBytes / sizeof(T);
};

// Where the vector begins that has a column in it.
template <typename T, int kBytes>
constexpr std::size_t vector_of(std::size_t column) {
  return column / Lanes<T, kBytes>::kCount * Lanes<T, kBytes>::kCount;
}

// Whether all numbers are finite: zero times each of them is zero.
template <typename T, int kBytes>
[[gnu::always_inline]] inline bool is_finite(Rows<T> a) {
  using Vector = typename Lanes<T, kBytes>::Vector;
  Vector sum = {};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.apart; j += Lanes<T, kBytes>::kCount) {
      Vector numbers;
      std::memcpy(&numbers, a.row(i) + j, kBytes);
      sum += numbers * T(0);
    }
  }
  T parts[Lanes<T, kBytes>::kCount], total = 0;
  std::memcpy(parts, &sum, kBytes);
  for (T part : parts) total += part;
  return total == T(0);
}

// A copy with zeros beside it; whether all is finite.
template <typename T, int kBytes>
[[gnu::always_inline]] inline bool copy_in(const T* from, Rows<T> to) {
  for (std::size_t i = 0; i < to.rows; ++i, from += to.columns) {
    std::memcpy(to.row(i), from, to.columns * sizeof(T));
    std::memset(to.row(i) + to.columns, 0, (to.apart - to.columns) * sizeof(T));
  }
  return is_finite<T, kBytes>(to);
}

// A copy without what lies beside it; whether all is finite.
template <typename T, int kBytes>
[[gnu::always_inline]] inline bool copy_out(Rows<T> from, T* to) {
  for (std::size_t i = 0; i < from.rows; ++i, to += from.columns) {
    std::memcpy(to, from.row(i), from.columns * sizeof(T));
  }
  return is_finite<T, kBytes>(from);
}

// Subtracts from rows `begin` … `end`, from column `start` on, their factor times one row.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void subtract_multiples(Rows<T> a, std::size_t begin, std::size_t end,
                                                      std::size_t start, const T* factors,
                                                      const T* row) {
  using Vector = typename Lanes<T, kBytes>::Vector;
  constexpr std::size_t kTogether = 4;
  std::size_t i = begin;
  for (; i + kTogether <= end; i += kTogether) {
    const T f[kTogether] = {factors[i], factors[i + 1], factors[i + 2], factors[i + 3]};
    T* first = a.row(i);
    for (std::size_t j = start; j < a.apart; j += Lanes<T, kBytes>::kCount) {
      Vector other;
      std::memcpy(&other, row + j, kBytes);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kTogether; ++k) {
        Vector numbers;
        std::memcpy(&numbers, first + k * a.apart + j, kBytes);
        numbers -= f[k] * other;
        std::memcpy(first + k * a.apart + j, &numbers, kBytes);
      }
    }
  }
  for (; i < end; ++i) {
    for (std::size_t j = start; j < a.apart; j += Lanes<T, kBytes>::kCount) {
      Vector other, numbers;
      std::memcpy(&other, row + j, kBytes);
      std::memcpy(&numbers, a.row(i) + j, kBytes);
      numbers -= factors[i] * other;
      std::memcpy(a.row(i) + j, &numbers, kBytes);
    }
  }
}

// The sum of rows `begin` … `end`, each times its factor, from column `start` on.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void sum_multiples(Rows<T> a, std::size_t begin, std::size_t end,
                                                 std::size_t start, const T* factors, T* sums) {
  using Vector = typename Lanes<T, kBytes>::Vector;
  for (std::size_t j = start; j < a.apart; j += Lanes<T, kBytes>::kCount) {
    // A sum waits for the one before, so there are four.
    Vector sum[4] = {};
    std::size_t i = begin;
    for (; i + 4 <= end; i += 4) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        Vector numbers;
        std::memcpy(&numbers, a.row(i + k) + j, kBytes);
        sum[k] += factors[i + k] * numbers;
      }
    }
    for (; i < end; ++i) {
      Vector numbers;
      std::memcpy(&numbers, a.row(i) + j, kBytes);
      sum[0] += factors[i] * numbers;
    }
    const Vector total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    std::memcpy(sums + j, &total, kBytes);
  }
}

// The largest size in a column from the diagonal on.
template <typename T>
[[gnu::always_inline]] inline T largest_below(Rows<T> a, std::size_t k) {
  // A comparison waits for the one before, so there are four.
  T found[4] = {};
  std::size_t i = k;
  for (; i + 4 <= a.rows; i += 4) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < 4; ++j) found[j] = std::max(found[j], std::abs(a.at(i + j, k)));
  }
  for (; i < a.rows; ++i) found[0] = std::max(found[0], std::abs(a.at(i, k)));
  return std::max(std::max(found[0], found[1]), std::max(found[2], found[3]));
}

// P A = L U: pivots count from 0.  False: the matrix is not ordinary.
template <typename T, int kBytes>
[[gnu::always_inline]] inline bool factor_lu(Rows<T> a, const T* given, T* found,
                                             std::int32_t* pivots, T* spare) {
  if (!copy_in<T, kBytes>(given, a)) return false;
  T *row = spare, *factors = spare + a.apart;
  const std::size_t bytes = a.apart * sizeof(T);
  for (std::size_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    const T largest = largest_below(a, k);
    std::size_t chosen = k;
    while (std::abs(a.at(chosen, k)) != largest && chosen + 1 < a.rows) ++chosen;
    pivots[k] = static_cast<std::int32_t>(chosen);
    if (largest == T(0)) continue;  // so is all below
    if (!(largest > kLeastPivot<T> && largest < T(1) / kLeastPivot<T>)) return false;
    std::memcpy(row, a.row(chosen), bytes);
    if (chosen != k) {
      std::memcpy(a.row(chosen), a.row(k), bytes);
      std::memcpy(a.row(k), row, bytes);
    }
    const T inverse = T(1) / a.at(k, k);
    for (std::size_t i = k + 1; i < a.rows; ++i) factors[i] = a.at(i, k) * inverse;
    const std::size_t start = vector_of<T, kBytes>(k + 1);
    // What is left of the diagonal stays.
    for (std::size_t j = start; j <= k; ++j) row[j] = T(0);
    subtract_multiples<T, kBytes>(a, k + 1, a.rows, start, factors, row);
    // Before that, vectors would wait for what was stored of them a moment ago.
    for (std::size_t i = k + 1; i < a.rows; ++i) a.at(i, k) = factors[i];
  }
  return copy_out<T, kBytes>(a, found);
}

// A = L Lᵀ, of whose triangles the lower one is read.  False: the matrix is not ordinary, or not
// positive definite; what is not finite leaves a pivot that is none.
template <typename T, int kBytes>
[[gnu::always_inline]] inline bool factor_cholesky(Rows<T> a, const T* given, T* found) {
  constexpr std::size_t kLanes = Lanes<T, kBytes>::kCount;
  const std::size_t size = a.rows;
  // By rows Lᵀ is found.  What lies before the diagonal has no meaning.
  std::memset(a.first, 0, size * a.apart * sizeof(T));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) a.at(j, i) = given[i * size + j];
  }
  for (std::size_t k = 0; k < size; ++k) {
    T* row = a.row(k);
    const T pivot = row[k];
    if (!(pivot > kLeastPivot<T> && pivot < T(1) / kLeastPivot<T>)) return false;
    const T root = std::sqrt(pivot), inverse = T(1) / root;
    for (std::size_t j = vector_of<T, kBytes>(k); j < a.apart; j += kLanes) {
      typename Lanes<T, kBytes>::Vector numbers;
      std::memcpy(&numbers, row + j, kBytes);
      numbers *= inverse;
      std::memcpy(row + j, &numbers, kBytes);
    }
    row[k] = root;
    for (std::size_t i = k + 1; i < size;) {
      const std::size_t start = vector_of<T, kBytes>(i), end = std::min(size, start + kLanes);
      subtract_multiples<T, kBytes>(a, i, end, start, row, row);
      i = end;
    }
  }
  for (std::size_t i = 0; i < size; ++i, found += size) {
    for (std::size_t j = 0; j <= i; ++j) found[j] = a.at(j, i);
    std::memset(found + i + 1, 0, (size - i - 1) * sizeof(T));
  }
  return true;
}

// Applies I - t v vᵀ to the columns behind column k, where v begins in row k.
template <typename T, int kBytes>
[[gnu::always_inline]] inline void reflect(Rows<T> a, std::size_t k, const T* v, T t, T* sums) {
  const std::size_t start = vector_of<T, kBytes>(k + 1);
  sum_multiples<T, kBytes>(a, k, a.rows, start, v, sums);
  for (std::size_t j = start; j < a.apart; ++j) sums[j] = j <= k ? T(0) : sums[j] * t;
  subtract_multiples<T, kBytes>(a, k, a.rows, start, v, sums);
}

// The reflection that leaves of a column from row k on its first number alone; false: its norm is
// not ordinary.  Squares are double ones.
template <typename T>
[[gnu::always_inline]] inline bool reflection_of(Rows<T> a, std::size_t k, T* v, T* scalar) {
  constexpr double kLeast = sizeof(T) == 4 ? 1e-30 : 1e-140, kMost = 1 / kLeast;
  double below = 0;
  for (std::size_t i = k + 1; i < a.rows; ++i) {
    const double x = a.at(i, k);
    below += x * x;
  }
  const double first = a.at(k, k);
  *scalar = T(0);
  v[k] = T(1);
  bool is_zero = true;
  for (std::size_t i = k + 1; i < a.rows; ++i) is_zero &= a.at(i, k) == T(0);
  if (is_zero) return true;  // v is not read
  const double norm = std::sqrt(first * first + below);
  if (!(norm > kLeast && norm < kMost)) return false;
  const double beta = -std::copysign(norm, first);  // as LAPACK: of 0, too
  *scalar = static_cast<T>((beta - first) / beta);
  const double inverse = 1 / (first - beta);
  for (std::size_t i = k + 1; i < a.rows; ++i) {
    v[i] = static_cast<T>(a.at(i, k) * inverse);
  }
  a.at(k, k) = static_cast<T>(beta);
  return true;
}

// A = Q R, with `inner` columns of Q.  False: the matrix is not ordinary.
template <typename T, int kBytes>
[[gnu::always_inline]] inline bool factor_qr(Rows<T> a, Rows<T> q, const T* given, T* found_q,
                                             T* found_r, T* spare) {
  if (!copy_in<T, kBytes>(given, a)) return false;
  const std::size_t rank = std::min(a.rows, a.columns);
  T *v = spare, *scalars = v + a.rows, *sums = scalars + rank;
  for (std::size_t k = 0; k < rank; ++k) {
    if (!reflection_of(a, k, v, scalars + k)) return false;
    if (scalars[k] == T(0)) continue;
    reflect<T, kBytes>(a, k, v, scalars[k], sums);
    for (std::size_t i = k + 1; i < a.rows; ++i) a.at(i, k) = v[i];
  }
  std::memset(q.first, 0, q.rows * q.apart * sizeof(T));
  for (std::size_t k = 0; k < q.columns; ++k) q.at(k, k) = T(1);
  for (std::size_t k = rank; k-- > 0;) {
    if (scalars[k] == T(0)) continue;
    v[k] = T(1);
    for (std::size_t i = k + 1; i < a.rows; ++i) v[i] = a.at(i, k);
    reflect<T, kBytes>(q, k, v, scalars[k], sums);
    for (std::size_t i = k + 1; i < a.rows; ++i) q.at(i, k) = -scalars[k] * v[i];
    q.at(k, k) = T(1) - scalars[k];
  }
  for (std::size_t i = 1; i < q.columns; ++i) {
    std::memset(a.row(i), 0, std::min(i, a.columns) * sizeof(T));
  }
  const Rows<T> r{a.first, q.columns, a.columns, a.apart};
  const bool is_finite = copy_out<T, kBytes>(r, found_r);
  return copy_out<T, kBytes>(q, found_q) && is_finite;
}

#define MORPHAX_FACTORS(SUFFIX, BYTES)                                                       \
  template <typename T>                                                                      \
  bool lu_##SUFFIX(Rows<T> a, const T* given, T* found, std::int32_t* pivots, T* spare) {    \
    return factor_lu<T, BYTES>(a, given, found, pivots, spare);                              \
  }                                                                                          \
  template <typename T>                                                                      \
  bool cholesky_##SUFFIX(Rows<T> a, const T* given, T* found) {                              \
    return factor_cholesky<T, BYTES>(a, given, found);                                       \
  }                                                                                          \
  template <typename T>                                                                      \
  bool qr_##SUFFIX(Rows<T> a, Rows<T> q, const T* given, T* found_q, T* found_r, T* spare) { \
    return factor_qr<T, BYTES>(a, q, given, found_q, found_r, spare);                        \
  }

MORPHAX_FACTORS(of_any, 16)
#if defined(__x86_64__) && defined(__linux__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
MORPHAX_FACTORS(of_32_bytes, 32)
#pragma GCC pop_options
#endif
#pragma GCC pop_options

template <typename T>
Functions<T> functions_of_processor() {
#if defined(__x86_64__) && defined(__linux__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {lu_of_32_bytes<T>, cholesky_of_32_bytes<T>, qr_of_32_bytes<T>};
  }
#endif
  return {lu_of_any<T>, cholesky_of_any<T>, qr_of_any<T>};
}

}  // namespace

template <typename T>
const Functions<T>& functions() {
  static const Functions<T> found = functions_of_processor<T>();
  return found;
}

template const Functions<float>& functions<float>();
template const Functions<double>& functions<double>();

}  // namespace morphax::small_factors
