// Running sums, products, maxima and minima.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::running {

void bind(nanobind::module_& module);

}  // namespace morphax::running
