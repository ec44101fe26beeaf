#pragma once

#include "fused_operations.h"

namespace morphax::fused {

// What takes several operations of chains, each as one: their steps in one loop, with the same
// roundings.
Operations compositions();

}  // namespace morphax::fused
