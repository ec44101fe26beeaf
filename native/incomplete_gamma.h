// The incomplete gamma functions, and how gamma numbers move with their parameter.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace morphax::incomplete_gamma {

// Operations of fused programs: P and Q of float32.
void lower(std::size_t count, const void* a, const void* x, const void*, void* out);
void upper(std::size_t count, const void* a, const void* x, const void*, void* out);

void bind(nanobind::module_& module);

}  // namespace morphax::incomplete_gamma
