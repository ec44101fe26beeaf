// The incomplete gamma functions, and how gamma numbers move with their parameter.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::incomplete_gamma {

void bind(nanobind::module_& module);

}  // namespace morphax::incomplete_gamma
