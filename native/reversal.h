#pragma once

#include <nanobind/nanobind.h>

namespace morphax::reversal {

void bind(nanobind::module_& module);

}  // namespace morphax::reversal
