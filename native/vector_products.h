// Products of matrices and vectors, and of vectors.
#pragma once

#include <cstdint>

namespace morphax::products {

template <typename T>
struct Matrix {
  const T* first;
  std::int64_t rows, columns;
  std::int64_t down, across;  // the distances of elements
};

// Writes the product of a matrix and a vector, whose elements are `step` apart: of float, double,
// and integers without a sign of 32 and 64 bits.
template <typename T>
void multiply_vector(const Matrix<T>& a, const T* x, std::int64_t step, T* out);

// The same of integers of 8 and 16 bits, modulo 2¹⁶ or 2³²; false, and nothing is written, if
// neither rows nor columns lie next to each other.
template <typename T, typename Sum>
bool multiply_narrow_vector(const Matrix<T>& a, const T* x, std::int64_t step, Sum* out);

// Writes the product of each short row of a matrix and that of another one; false, and nothing is
// written, if rows are long.
template <typename T>
bool multiply_pairs(const Matrix<T>& a, const Matrix<T>& b, T* out);

}  // namespace morphax::products
