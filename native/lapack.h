#pragma once

#include <nanobind/nanobind.h>

namespace morphax::lapack {

void bind(nanobind::module_& module);

}  // namespace morphax::lapack
