// Eager calls of functions whose programs are known; see morphax/engines/reference/replay.py.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::replay {

void bind(nanobind::module_& module);

}  // namespace morphax::replay
