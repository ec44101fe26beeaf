#pragma once

#include <nanobind/nanobind.h>

namespace morphax::many_numbers {

void bind(nanobind::module_& module);

}  // namespace morphax::many_numbers
