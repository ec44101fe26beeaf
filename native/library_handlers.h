// The functions of LAPACK that compiled programs call, with fewer of the library's threads.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::library_handlers {

void bind(nanobind::module_& module);

}  // namespace morphax::library_handlers
