// Factorisations of small real matrices as steps of LAPACK's plans.
#pragma once

#include <memory>
#include <string_view>

#include "lapack_steps.h"

namespace morphax::lapack {

// The step of this name that a tuple describes; none if there is no such step here.
std::unique_ptr<Step> small_step_of(std::string_view name, const nb::tuple& described);

}  // namespace morphax::lapack
