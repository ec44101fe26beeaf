// Poisson and binomial numbers drawn from keys.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::counts {

// Add the functions to a module.
void bind(nanobind::module_& module);

}  // namespace morphax::counts
