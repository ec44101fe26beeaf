// Factorisations of small real matrices by rows, as steps of LAPACK's plans (`lapack_steps.h`).
#pragma once

#include <memory>
#include <string_view>

#include "lapack_steps.h"

namespace morphax::lapack {

// Of a step of this file; null if the name is another's.
std::unique_ptr<Step> small_step_of(std::string_view name, const nb::tuple& described);

}  // namespace morphax::lapack
