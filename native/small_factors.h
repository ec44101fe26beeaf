// Factorisations of small real matrices by rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace morphax::small_factors {

// Rows so far apart; as many numbers as there are columns are the matrix, the others zero.
template <typename T>
struct Rows {
  T* first;
  std::size_t rows, columns, apart;

  T* row(std::size_t i) const { return first + i * apart; }
  T& at(std::size_t i, std::size_t j) const { return first[i * apart + j]; }
};

// Each reads a matrix by rows and writes its factors, in memory that is as large as `Rows` say.
// False: the matrix is not ordinary, and what was written is of no use.
template <typename T>
struct Functions {
  // L below the diagonal, U on and above it; row k was exchanged with row `pivots[k]`.  `spare` has
  // room for a row and a column.
  bool (*lu)(Rows<T> a, const T* given, T* found, std::int32_t* pivots, T* spare);
  // L of L Lᵀ, of the lower triangle.
  bool (*cholesky)(Rows<T> a, const T* given, T* found);
  // Q, with as many columns as `q` has, and as many rows of R.  `spare` has room for a column, as
  // many numbers as there are reflections, and a row of both.
  bool (*qr)(Rows<T> a, Rows<T> q, const T* given, T* found_q, T* found_r, T* spare);
};

// Those for this processor, of float or double.
template <typename T>
const Functions<T>& functions();

}  // namespace morphax::small_factors
