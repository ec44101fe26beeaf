#pragma once

#include <nanobind/nanobind.h>

namespace morphax::bit_counts {

void bind(nanobind::module_& module);

}  // namespace morphax::bit_counts
