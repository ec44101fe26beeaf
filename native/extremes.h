#pragma once

#include <nanobind/nanobind.h>

namespace morphax::extremes {

void bind(nanobind::module_& module);

}  // namespace morphax::extremes
