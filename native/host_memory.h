#pragma once

#include <nanobind/nanobind.h>

namespace morphax {

// An uninitialised array of a plain dtype in the memory of a pool, an instance of `HostMemory`.
nanobind::object new_array_in(nanobind::handle pool, int rank, const Py_intptr_t* dims,
                              nanobind::object dtype);

// Adds the class `HostMemory` to the module.
void bind_host_memory(nanobind::module_& module);

}  // namespace morphax
