// Products of sparse matrices in host memory with rows of numbers.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::sparse_products {

// Add the functions to a module.
void bind(nanobind::module_& module);

}  // namespace morphax::sparse_products
