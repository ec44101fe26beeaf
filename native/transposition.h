#pragma once

#include <nanobind/nanobind.h>

namespace morphax::transposition {

void bind(nanobind::module_& module);

}  // namespace morphax::transposition
