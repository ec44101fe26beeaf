#pragma once

#include <nanobind/nanobind.h>

namespace morphax::contexts {

void bind(nanobind::module_& module);

}  // namespace morphax::contexts
