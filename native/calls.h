// The warm call of a jitted function: the compiled twin of `PjitFunction.__call__`.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::calls {

void bind(nanobind::module_& module);

}  // namespace morphax::calls
