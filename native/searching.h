// Places in sorted vectors.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::searching {

void bind(nanobind::module_& module);

}  // namespace morphax::searching
