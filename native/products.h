#pragma once

#include <nanobind/nanobind.h>

namespace morphax::products {

void bind(nanobind::module_& module);

}  // namespace morphax::products
