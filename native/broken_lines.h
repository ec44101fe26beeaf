#pragma once

#include <nanobind/nanobind.h>

namespace morphax::broken_lines {

void bind(nanobind::module_& module);

}  // namespace morphax::broken_lines
