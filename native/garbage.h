#pragma once

#include <nanobind/nanobind.h>

namespace morphax::garbage {

void bind(nanobind::module_& module);

}  // namespace morphax::garbage
