// Places of the largest elements of rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace morphax::largest {

// The places of the `kept` largest of each row, in falling order, the first of equal ones first;
// NaN are where their bits say.
void places(const float* x, std::size_t rows, std::size_t length, std::size_t kept,
            std::int32_t* out);
void places(const double* x, std::size_t rows, std::size_t length, std::size_t kept,
            std::int32_t* out);
void places(const std::int32_t* x, std::size_t rows, std::size_t length, std::size_t kept,
            std::int32_t* out);

}  // namespace morphax::largest
