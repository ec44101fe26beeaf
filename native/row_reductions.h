#pragma once

#include <nanobind/nanobind.h>

namespace morphax::row_reductions {

void bind(nanobind::module_& module);

}  // namespace morphax::row_reductions
