#pragma once

#include <nanobind/nanobind.h>

namespace morphax::triangles {

void bind(nanobind::module_& module);

}  // namespace morphax::triangles
