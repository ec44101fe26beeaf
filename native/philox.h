// Random bits by Philox-4x32.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::philox {

void bind(nanobind::module_& module);

}  // namespace morphax::philox
