#pragma once

#include <nanobind/nanobind.h>

namespace morphax::small_programs {

void bind(nanobind::module_& module);

}  // namespace morphax::small_programs
