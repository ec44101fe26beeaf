#pragma once

#include <nanobind/nanobind.h>

namespace morphax::fused {

void bind(nanobind::module_& module);

}  // namespace morphax::fused
