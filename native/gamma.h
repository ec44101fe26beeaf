// Gamma numbers drawn from keys, by rejection.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::gamma {

// Add the functions to a module.
void bind(nanobind::module_& module);

}  // namespace morphax::gamma
