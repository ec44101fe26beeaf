// Elements that an index names, of eager Arrays; see morphax/engines/reference/known_parts.py.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::indexing {

void bind(nanobind::module_& module);

}  // namespace morphax::indexing
