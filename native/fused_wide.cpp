// The operations of fused programs on numbers of 64 bits, each a loop that vectorises.
//
// What `fused_operations.cpp` says holds for them too: results are rounded exactly, but for those
// of complex numbers, which are words of 64 bits here.
#include <cstdint>
#include <iterator>
#include <limits>

#include "complex_functions.h"
#include "deviances.h"
#include "error_function.h"
#include "fused_loops.h"
#include "fused_operations.h"
#include "inverse_erf.h"
#include "log_gamma.h"
#include "wide_exponentials.h"
#include "wide_logarithms.h"

namespace morphax::fused {

namespace {

using elementary::bits_as;
using elementary::f32;
using elementary::i32;
using elementary::u32;
using f64 = double;
using i64 = std::int64_t;
using u64 = std::uint64_t;

MORPHAX_BINARY(add_f64, f64, f64, x + y)
MORPHAX_BINARY(sub_f64, f64, f64, x - y)
MORPHAX_BINARY(mul_f64, f64, f64, x* y)
MORPHAX_BINARY(div_f64, f64, f64, x / y)
MORPHAX_TERNARY(mul_add_f64, f64, f64, x* y + z)
MORPHAX_BINARY(add_u64, u64, u64, x + y)
MORPHAX_BINARY(sub_u64, u64, u64, x - y)
MORPHAX_BINARY(mul_u64, u64, u64, x* y)

MORPHAX_UNARY(neg_f64, f64, f64, -x)
MORPHAX_UNARY(neg_u64, u64, u64, u64{0} - x)
MORPHAX_UNARY(abs_f64, f64, f64, __builtin_fabs(x))
MORPHAX_UNARY(abs_i64, i64, u64, x < 0 ? u64{0} - static_cast<u64>(x) : static_cast<u64>(x))
MORPHAX_UNARY(square_f64, f64, f64, x* x)
MORPHAX_UNARY(floor_f64, f64, f64, __builtin_floor(x))
MORPHAX_UNARY(ceil_f64, f64, f64, __builtin_ceil(x))
MORPHAX_UNARY(rint_f64, f64, f64, __builtin_rint(x))
MORPHAX_UNARY(round_f64, f64, f64, __builtin_round(x))
MORPHAX_UNARY(sqrt_f64, f64, f64, __builtin_sqrt(x))
MORPHAX_UNARY(rsqrt_f64, f64, f64, 1 / __builtin_sqrt(x))
MORPHAX_UNARY(is_finite_f64, f64, u32, __builtin_fabs(x) < std::numeric_limits<f64>::infinity())
MORPHAX_UNARY(sign_f64, f64, f64, x != x ? x : x == 0 ? x : __builtin_copysign(1, x))
MORPHAX_UNARY(sign_i64, i64, i64, (x > 0) - (x < 0))

MORPHAX_BINARY(max_f64, f64, f64, larger(x, y))
MORPHAX_BINARY(min_f64, f64, f64, smaller(x, y))
MORPHAX_TERNARY(clamp_f64, f64, f64, smaller(larger(x, y), z))
MORPHAX_BINARY(max_i64, i64, i64, larger_integer(x, y))
MORPHAX_BINARY(min_i64, i64, i64, smaller_integer(x, y))
MORPHAX_TERNARY(clamp_i64, i64, i64, smaller_integer(larger_integer(x, y), z))
MORPHAX_BINARY(max_u64, u64, u64, larger_integer(x, y))
MORPHAX_BINARY(min_u64, u64, u64, smaller_integer(x, y))

// Integers of less than 51 bits lie in the low bits of a double between 2⁵² and 2⁵³.
constexpr i64 kLargestQuick = i64{1} << 50, kOfShift = 0x4338000000000000;
constexpr f64 kShift = 0x1.8p52;

MORPHAX_INLINE f64 double_of(i64 x) { return bits_as<f64>(x + kOfShift) - kShift; }
MORPHAX_INLINE i64 integer_of(f64 x) { return bits_as<i64>(x + kShift) - kOfShift; }

// Rounded in double precision, a quotient of such integers is as far from others as it was: x / y
// is 1 / |y| away from them at least, which is more than its last bit.
MORPHAX_VECTORIZED_INTEGERS
void quick_quotients(std::size_t count, const i64* xs, const i64* ys, i64* results) {
  for (std::size_t i = 0; i < count; ++i)
    results[i] = integer_of(__builtin_trunc(double_of(xs[i]) / double_of(ys[i])));
}

MORPHAX_VECTORIZED_INTEGERS
bool has_quick_quotients(std::size_t count, const i64* xs, const i64* ys) {
  u64 slow = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const u64 x = static_cast<u64>(xs[i] + kLargestQuick), y = static_cast<u64>(ys[i]);
    slow |= x >= u64{2} * kLargestQuick;
    slow |= y + kLargestQuick >= u64{2} * kLargestQuick;
    slow |= y == 0;
  }
  return slow == 0;
}

// Truncated; by zero, all bits are set, and the remainder is the dividend.
void div_i64(std::size_t count, const void* a, const void* b, const void*, void* out) {
  const auto *xs = static_cast<const i64*>(a), *ys = static_cast<const i64*>(b);
  auto* results = static_cast<i64*>(out);
  if (has_quick_quotients(count, xs, ys)) return quick_quotients(count, xs, ys, results);
  for (std::size_t i = 0; i < count; ++i) {
    const i64 x = xs[i], y = ys[i];
    results[i] = y == 0 ? -1 : y == -1 ? static_cast<i64>(u64{0} - static_cast<u64>(x)) : x / y;
  }
}

MORPHAX_VECTORIZED_INTEGERS
void rests(std::size_t count, const u64* xs, const u64* ys, const u64* quotients, u64* results) {
  for (std::size_t i = 0; i < count; ++i)
    results[i] = ys[i] == 0 ? xs[i] : xs[i] - quotients[i] * ys[i];
}

void rem_i64(std::size_t count, const void* a, const void* b, const void*, void* out) {
  constexpr std::size_t kBlock = 512;
  i64 quotients[kBlock];
  const auto *xs = static_cast<const u64*>(a), *ys = static_cast<const u64*>(b);
  auto* results = static_cast<u64*>(out);
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t size = count - start < kBlock ? count - start : kBlock;
    div_i64(size, xs + start, ys + start, nullptr, quotients);
    rests(size, xs + start, ys + start, reinterpret_cast<const u64*>(quotients), results + start);
  }
}

MORPHAX_BINARY(eq_f64, f64, u32, x == y)
MORPHAX_BINARY(ne_f64, f64, u32, x != y)
MORPHAX_BINARY(lt_f64, f64, u32, x < y)
MORPHAX_BINARY(le_f64, f64, u32, x <= y)
MORPHAX_BINARY(gt_f64, f64, u32, x > y)
MORPHAX_BINARY(ge_f64, f64, u32, x >= y)
MORPHAX_BINARY(eq_u64, u64, u32, x == y)
MORPHAX_BINARY(ne_u64, u64, u32, x != y)
MORPHAX_BINARY(lt_i64, i64, u32, x < y)
MORPHAX_BINARY(le_i64, i64, u32, x <= y)
MORPHAX_BINARY(gt_i64, i64, u32, x > y)
MORPHAX_BINARY(ge_i64, i64, u32, x >= y)
MORPHAX_BINARY(lt_u64, u64, u32, x < y)
MORPHAX_BINARY(le_u64, u64, u32, x <= y)
MORPHAX_BINARY(gt_u64, u64, u32, x > y)
MORPHAX_BINARY(ge_u64, u64, u32, x >= y)

MORPHAX_BINARY(and_u64, u64, u64, x& y)
MORPHAX_BINARY(or_u64, u64, u64, x | y)
MORPHAX_BINARY(xor_u64, u64, u64, x ^ y)
MORPHAX_UNARY(not_u64, u64, u64, ~x)
MORPHAX_BINARY(shift_left, u64, u64, y < 64 ? x << (y & 63) : 0)
MORPHAX_BINARY(shift_right, u64, u64, y < 64 ? x >> (y & 63) : 0)
MORPHAX_BINARY(shift_right_signed, i64, i64, x >> (static_cast<u64>(y) < 64 ? y : 63))
MORPHAX_UNARY(population_count, u64, u64, static_cast<u64>(__builtin_popcountll(x)))
MORPHAX_UNARY(clz, u64, u64, x == 0 ? 64 : static_cast<u64>(__builtin_clzll(x)))
MORPHAX_UNARY(copy, u64, u64, x)

MORPHAX_VECTORIZED_INTEGERS
void select(std::size_t count, const void* a, const void* b, const void* c, void* out) {
  const auto* which = static_cast<const u32*>(a);
  const auto *no = static_cast<const u64*>(b), *yes = static_cast<const u64*>(c);
  auto* results = static_cast<u64*>(out);
  for (std::size_t i = 0; i < count; ++i) results[i] = which[i] ? yes[i] : no[i];
}

// Towards zero, at the ends of the range what is beyond, and 0 for NaN.
template <typename To, typename From>
MORPHAX_INLINE To integer_near(From x) {
  constexpr From kEnd = static_cast<From>(u64{1} << (8 * sizeof(To) - 1));
  return x != x      ? 0
         : x >= kEnd ? std::numeric_limits<To>::max()
         : x < -kEnd ? std::numeric_limits<To>::min()
                     : static_cast<To>(x);
}
MORPHAX_UNARY(i64_of_f64, f64, i64, integer_near<i64>(x))
MORPHAX_UNARY(i64_of_f32, f32, i64, integer_near<i64>(x))
MORPHAX_UNARY(i32_of_f64, f64, i32, integer_near<i32>(x))
MORPHAX_UNARY(f64_of_f32, f32, f64, static_cast<f64>(x))
MORPHAX_UNARY(f32_of_f64, f64, f32, static_cast<f32>(x))
MORPHAX_UNARY(f64_of_i32, i32, f64, static_cast<f64>(x))
MORPHAX_UNARY(f64_of_u32, u32, f64, static_cast<f64>(x))
MORPHAX_UNARY(f64_of_i64, i64, f64, static_cast<f64>(x))
MORPHAX_UNARY(f64_of_u64, u64, f64, static_cast<f64>(x))
MORPHAX_UNARY(f32_of_i64, i64, f32, static_cast<f32>(x))
MORPHAX_UNARY(i64_of_i32, i32, i64, static_cast<i64>(x))
MORPHAX_UNARY(i64_of_u32, u32, i64, static_cast<i64>(x))
MORPHAX_UNARY(u32_of_u64, u64, u32, static_cast<u32>(x))

// The parts of a complex number, of which the real one comes first in memory.
constexpr bool kLowComesFirst = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
MORPHAX_UNARY(first_half, u64, u32, static_cast<u32>(kLowComesFirst ? x : x >> 32))
MORPHAX_UNARY(second_half, u64, u32, static_cast<u32>(kLowComesFirst ? x >> 32 : x))

#define MORPHAX_WIDE(NAME, OPERANDS, LOOP) {NAME, OPERANDS, LOOP, nullptr, true}

// Without powers of doubles: which library NumPy takes them from depends on the processor.
constexpr Operation kOperations[] = {
    MORPHAX_WIDE("add_float64", 2, add_f64),
    MORPHAX_WIDE("sub_float64", 2, sub_f64),
    MORPHAX_WIDE("mul_float64", 2, mul_f64),
    MORPHAX_WIDE("div_float64", 2, div_f64),
    MORPHAX_WIDE("log_scaled_factorial_float64", 1, deviances::wide_log_scaled_factorial),
    MORPHAX_WIDE("deviance_float64", 3, deviances::wide_deviance),
    MORPHAX_WIDE("density_deviance_float64", 3, deviances::wide_density_deviance),
    MORPHAX_WIDE("full_distance_from_product_float64", 3,
                 deviances::wide_full_distance_from_product),
    MORPHAX_WIDE("whole_distance_from_product_float64", 3,
                 deviances::wide_whole_distance_from_product),
    MORPHAX_WIDE("broken_distance_from_product_float64", 3,
                 deviances::wide_broken_distance_from_product),
    MORPHAX_WIDE("binomial_excess_float64", 3, deviances::wide_excess),
    MORPHAX_WIDE("exp_float64", 1, wide_exponentials::exp),
    MORPHAX_WIDE("exp2_float64", 1, wide_exponentials::exp2),
    MORPHAX_WIDE("expm1_float64", 1, wide_exponentials::expm1),
    MORPHAX_WIDE("sinh_float64", 1, wide_exponentials::sinh),
    MORPHAX_WIDE("cosh_float64", 1, wide_exponentials::cosh),
    MORPHAX_WIDE("tanh_float64", 1, wide_exponentials::tanh),
    MORPHAX_WIDE("logistic_float64", 1, wide_exponentials::logistic),
    MORPHAX_WIDE("log1p_float64", 1, wide_logarithms::log1p),
    MORPHAX_WIDE("asinh_float64", 1, wide_logarithms::asinh),
    MORPHAX_WIDE("acosh_float64", 1, wide_logarithms::acosh),
    MORPHAX_WIDE("atanh_float64", 1, wide_logarithms::atanh),
    MORPHAX_WIDE("erf_float64", 1, error_function::wide_erf),
    MORPHAX_WIDE("erf_inv_float64", 1, inverse_erf::wide_erf_inv),
    MORPHAX_WIDE("lgamma_float64", 1, log_gamma::wide_lgamma),
    MORPHAX_WIDE("max_float64", 2, max_f64),
    MORPHAX_WIDE("min_float64", 2, min_f64),
    MORPHAX_WIDE("eq_float64", 2, eq_f64),
    MORPHAX_WIDE("ne_float64", 2, ne_f64),
    MORPHAX_WIDE("lt_float64", 2, lt_f64),
    MORPHAX_WIDE("le_float64", 2, le_f64),
    MORPHAX_WIDE("gt_float64", 2, gt_f64),
    MORPHAX_WIDE("ge_float64", 2, ge_f64),
    MORPHAX_WIDE("neg_float64", 1, neg_f64),
    MORPHAX_WIDE("abs_float64", 1, abs_f64),
    MORPHAX_WIDE("square_float64", 1, square_f64),
    MORPHAX_WIDE("floor_float64", 1, floor_f64),
    MORPHAX_WIDE("ceil_float64", 1, ceil_f64),
    MORPHAX_WIDE("sqrt_float64", 1, sqrt_f64),
    MORPHAX_WIDE("rsqrt_float64", 1, rsqrt_f64),
    MORPHAX_WIDE("sign_float64", 1, sign_f64),
    MORPHAX_WIDE("is_finite_float64", 1, is_finite_f64),
    MORPHAX_WIDE("round_even_float64", 1, rint_f64),
    MORPHAX_WIDE("round_away_float64", 1, round_f64),
    MORPHAX_WIDE("clamp_float64", 3, clamp_f64),
#define MORPHAX_OF_INTEGERS(DTYPE)                                                             \
  MORPHAX_WIDE("add_" DTYPE, 2, add_u64), MORPHAX_WIDE("sub_" DTYPE, 2, sub_u64),              \
      MORPHAX_WIDE("mul_" DTYPE, 2, mul_u64), MORPHAX_WIDE("neg_" DTYPE, 1, neg_u64),          \
      MORPHAX_WIDE("eq_" DTYPE, 2, eq_u64), MORPHAX_WIDE("ne_" DTYPE, 2, ne_u64),              \
      MORPHAX_WIDE("and_" DTYPE, 2, and_u64), MORPHAX_WIDE("or_" DTYPE, 2, or_u64),            \
      MORPHAX_WIDE("xor_" DTYPE, 2, xor_u64), MORPHAX_WIDE("not_" DTYPE, 1, not_u64),          \
      MORPHAX_WIDE("shift_left_" DTYPE, 2, shift_left),                                        \
      MORPHAX_WIDE("shift_right_logical_" DTYPE, 2, shift_right),                              \
      MORPHAX_WIDE("population_count_" DTYPE, 1, population_count),                            \
      MORPHAX_WIDE("clz_" DTYPE, 1, clz), MORPHAX_WIDE("select_" DTYPE, 3, select),            \
      MORPHAX_WIDE("repeat_" DTYPE, 1, copy), MORPHAX_WIDE(DTYPE "_of_int32", 1, i64_of_i32),  \
      MORPHAX_WIDE(DTYPE "_of_uint32", 1, i64_of_u32),                                         \
      MORPHAX_WIDE(DTYPE "_of_bool", 1, i64_of_i32), MORPHAX_WIDE(DTYPE "_of_int64", 1, copy), \
      MORPHAX_WIDE(DTYPE "_of_uint64", 1, copy),
    MORPHAX_OF_INTEGERS("int64") MORPHAX_OF_INTEGERS("uint64")
#undef MORPHAX_OF_INTEGERS
        MORPHAX_WIDE(kWideDraw, 1, nullptr),
    MORPHAX_WIDE("max_uint64", 2, max_u64),
    MORPHAX_WIDE("min_uint64", 2, min_u64),
    MORPHAX_WIDE("lt_uint64", 2, lt_u64),
    MORPHAX_WIDE("le_uint64", 2, le_u64),
    MORPHAX_WIDE("gt_uint64", 2, gt_u64),
    MORPHAX_WIDE("ge_uint64", 2, ge_u64),
    MORPHAX_WIDE("div_int64", 2, div_i64),
    MORPHAX_WIDE("rem_int64", 2, rem_i64),
    MORPHAX_WIDE("max_int64", 2, max_i64),
    MORPHAX_WIDE("min_int64", 2, min_i64),
    MORPHAX_WIDE("lt_int64", 2, lt_i64),
    MORPHAX_WIDE("le_int64", 2, le_i64),
    MORPHAX_WIDE("gt_int64", 2, gt_i64),
    MORPHAX_WIDE("ge_int64", 2, ge_i64),
    MORPHAX_WIDE("abs_int64", 1, abs_i64),
    MORPHAX_WIDE("sign_int64", 1, sign_i64),
    MORPHAX_WIDE("clamp_int64", 3, clamp_i64),
    MORPHAX_WIDE("shift_right_arithmetic_int64", 2, shift_right_signed),
    MORPHAX_WIDE("select_float64", 3, select),
    MORPHAX_WIDE("repeat_float64", 1, copy),
    MORPHAX_WIDE("float64_as_int64", 1, copy),
    MORPHAX_WIDE("float64_as_uint64", 1, copy),
    MORPHAX_WIDE("int64_as_float64", 1, copy),
    MORPHAX_WIDE("int64_as_uint64", 1, copy),
    MORPHAX_WIDE("uint64_as_float64", 1, copy),
    MORPHAX_WIDE("uint64_as_int64", 1, copy),
    MORPHAX_WIDE("float64_of_float64", 1, copy),
    MORPHAX_WIDE("int64_of_float64", 1, i64_of_f64),
    MORPHAX_WIDE("int64_of_float32", 1, i64_of_f32),
    MORPHAX_WIDE("int32_of_float64", 1, i32_of_f64),
    MORPHAX_WIDE("float64_of_float32", 1, f64_of_f32),
    MORPHAX_WIDE("float32_of_float64", 1, f32_of_f64),
    MORPHAX_WIDE("float64_of_int32", 1, f64_of_i32),
    MORPHAX_WIDE("float64_of_bool", 1, f64_of_i32),
    MORPHAX_WIDE("float64_of_uint32", 1, f64_of_u32),
    MORPHAX_WIDE("float64_of_int64", 1, f64_of_i64),
    MORPHAX_WIDE("float32_of_int64", 1, f32_of_i64),
    MORPHAX_WIDE("int32_of_int64", 1, u32_of_u64),
    MORPHAX_WIDE("uint32_of_int64", 1, u32_of_u64),
    MORPHAX_WIDE("int32_of_uint64", 1, u32_of_u64),
    MORPHAX_WIDE("uint32_of_uint64", 1, u32_of_u64),
    MORPHAX_WIDE("float64_of_uint64", 1, f64_of_u64),
    MORPHAX_WIDE("real_complex64", 1, first_half),
    MORPHAX_WIDE("imag_complex64", 1, second_half),
    MORPHAX_WIDE("exp_complex64", 1, complex_functions::exp),
    MORPHAX_WIDE("exp2_complex64", 1, complex_functions::exp2),
    MORPHAX_WIDE("expm1_complex64", 1, complex_functions::expm1),
    MORPHAX_WIDE("log_complex64", 1, complex_functions::log),
    MORPHAX_WIDE("log2_complex64", 1, complex_functions::log2),
    MORPHAX_WIDE("log1p_complex64", 1, complex_functions::log1p),
    MORPHAX_WIDE("logistic_complex64", 1, complex_functions::logistic),
    MORPHAX_WIDE("sin_complex64", 1, complex_functions::sin),
    MORPHAX_WIDE("cos_complex64", 1, complex_functions::cos),
    MORPHAX_WIDE("tan_complex64", 1, complex_functions::tan),
    MORPHAX_WIDE("sinh_complex64", 1, complex_functions::sinh),
    MORPHAX_WIDE("cosh_complex64", 1, complex_functions::cosh),
    MORPHAX_WIDE("tanh_complex64", 1, complex_functions::tanh),
    MORPHAX_WIDE("sqrt_complex64", 1, complex_functions::sqrt),
    MORPHAX_WIDE("sign_complex64", 1, complex_functions::sign),
    MORPHAX_WIDE("asin_complex64", 1, complex_functions::asin),
    MORPHAX_WIDE("acos_complex64", 1, complex_functions::acos),
    MORPHAX_WIDE("atan_complex64", 1, complex_functions::atan),
    MORPHAX_WIDE("asinh_complex64", 1, complex_functions::asinh),
    MORPHAX_WIDE("acosh_complex64", 1, complex_functions::acosh),
    MORPHAX_WIDE("atanh_complex64", 1, complex_functions::atanh),
    MORPHAX_WIDE("pow_complex64", 2, complex_functions::power),
    MORPHAX_WIDE("div_complex64", 2, complex_functions::quotient),
};

#undef MORPHAX_WIDE

}  // namespace

Loop wide_product_with_sum() { return mul_add_f64; }

Operations wide_operations() { return {kOperations, std::size(kOperations)}; }

}  // namespace morphax::fused
