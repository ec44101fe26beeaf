// Members of an array along its first axis, taken where numbers say, and the numbers of windows.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::taking {

void bind(nanobind::module_& module);

}  // namespace morphax::taking
