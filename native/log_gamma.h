// log |Γ| of float64 as an operation of fused programs, and what others take of it.
#pragma once

#include <cstddef>

namespace morphax::log_gamma {

// log Γ(x) − (x − ½) log x + x in 2/x − 1, for x ≥ 1, highest power first.
inline constexpr double kAboveOne[] = {
    -1.2496157394226516e-11, -1.138843839461295e-12,  1.1209128445245066e-10,
    -1.0759984316523354e-10, -2.021058096584865e-10,  3.9489200054133546e-10,
    -3.478657569554614e-10,  6.090776139379939e-10,   -7.055388144030629e-10,
    -1.3744874794123066e-09, 8.343785144222177e-09,   -2.2293176264984083e-08,
    3.5040368828208156e-08,  6.4171145710516024e-09,  -2.7228885009045054e-07,
    1.0599775592730635e-06,  -1.9283381691359057e-06, -3.833103162935326e-06,
    4.975306753836073e-05,   -0.00019216804437087782, -0.0008575572265035157,
    0.040725690922956415,    0.960279229160082};

// A loop as `fused_operations.h` has them.
void wide_lgamma(std::size_t count, const void* x, const void*, const void*, void* out);

}  // namespace morphax::log_gamma
