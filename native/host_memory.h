#pragma once

#include <nanobind/nanobind.h>

namespace morphax {

// Adds the class `HostMemory` to the module.
void bind_host_memory(nanobind::module_& module);

}  // namespace morphax
