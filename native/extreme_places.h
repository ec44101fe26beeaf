#pragma once

#include <nanobind/nanobind.h>

namespace morphax::extreme_places {

void bind(nanobind::module_& module);

}  // namespace morphax::extreme_places
