// Calls of programs that the native engine has compiled, which read operands where they lie.
#pragma once

#include "calls_program.h"

namespace morphax::calls {

// The results of a call; invalid if Python is to see to it.
nb::object run_machine(const Plan& plan, const Signature& signature, bool committed);

}  // namespace morphax::calls
