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

// Writes the product of a matrix and a vector, whose elements are `step` apart.
void multiply_vector(const Matrix<float>& a, const float* x, std::int64_t step, float* out);
void multiply_vector(const Matrix<double>& a, const double* x, std::int64_t step, double* out);

}  // namespace morphax::products
