// Equations that are written again; see morphax/core/recorded_calls.py and staging.py.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::staging {

void bind(nanobind::module_& module);

}  // namespace morphax::staging
