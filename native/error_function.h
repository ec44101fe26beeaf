// erf of float64.
#pragma once

#include <cstddef>

namespace morphax::error_function {

void wide_erf(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::error_function
