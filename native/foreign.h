#pragma once

#include <nanobind/nanobind.h>

namespace morphax::foreign {

void bind(nanobind::module_& module);

}  // namespace morphax::foreign
