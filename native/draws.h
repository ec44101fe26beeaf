// Numbers drawn by rejection, for arrays of parameters: called eagerly and by compiled programs.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::draws {

// Add the functions to a module.
void bind(nanobind::module_& module);

}  // namespace morphax::draws
