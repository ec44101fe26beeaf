// The regularised incomplete beta function of float32.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::incomplete_beta {

void bind(nanobind::module_& module);

}  // namespace morphax::incomplete_beta
