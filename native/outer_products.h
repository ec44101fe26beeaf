#pragma once

#include <nanobind/nanobind.h>

namespace morphax::outer_products {

void bind(nanobind::module_& module);

}  // namespace morphax::outer_products
