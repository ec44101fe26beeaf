#pragma once

#include <nanobind/nanobind.h>

namespace morphax::random {

void bind(nanobind::module_& module);

}  // namespace morphax::random
