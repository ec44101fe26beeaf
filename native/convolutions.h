#pragma once

#include <nanobind/nanobind.h>

namespace morphax::convolutions {

void bind(nanobind::module_& module);

}  // namespace morphax::convolutions
