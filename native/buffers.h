#pragma once

#include <nanobind/nanobind.h>

namespace morphax::buffers {

void bind(nanobind::module_& module);

}  // namespace morphax::buffers
