// Operands on the way from the leaves of the arguments to the buffers that a program takes.
#pragma once

#include "calls_program.h"

namespace morphax::calls {

// The operands as arrays; numbers go straight to its place.
References as_arrays(Signature& signature, const Plan& plan);

// Whether leaves are bound to the places where a program takes them, or to others.
enum class Commitment { kNone, kHere, kElsewhere };
Commitment commitment(const References& leaves, const Plan& plan);

// What the program takes: buffers of the operands, then its constants.
nb::object buffers_of(const References& arrays, const Plan& plan);

// Whether operands can be given away as they are: each has a buffer, of its own, and stands once.
bool can_donate(const References& arrays, const Plan& plan);

// Marks the operands whose memory XLA took as deleted.
void give_up(const References& arrays, const Plan& plan);

// Forgets the numbers that are kept on devices.
void clear_numbers();

}  // namespace morphax::calls
