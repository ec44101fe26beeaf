// Loops over few numbers whose steps wait for one another.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::sequential {

void bind(nanobind::module_& module);

}  // namespace morphax::sequential
