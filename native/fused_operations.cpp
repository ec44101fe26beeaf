// The operations of fused programs, each a loop that vectorises.
//
// A name is that of the primitive and the dtype of its operands, or says which dtype comes of
// which. Here stand only operations whose results are rounded exactly, so that they are NumPy's to
// the last bit; the error function and its inverse, whose twins in `morphax/lax/elementwise`
// (`special.py`, `inverse_erf.py`) take the same steps; and the special functions whose single
// kernels these are.
#include "fused_operations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "compositions.h"
#include "deviances.h"
#include "elementary.h"
#include "elementary_functions.h"
#include "exponentials.h"
#include "fused_loops.h"
#include "incomplete_gamma.h"
#include "special_functions.h"

namespace morphax::fused {

namespace {

using elementary::f32;
using elementary::i32;
using elementary::inverse_erf;
using elementary::u32;

MORPHAX_BINARY(add_f32, f32, f32, x + y)
MORPHAX_BINARY(sub_f32, f32, f32, x - y)
MORPHAX_BINARY(mul_f32, f32, f32, x* y)
MORPHAX_BINARY(div_f32, f32, f32, x / y)
MORPHAX_BINARY(add_u32, u32, u32, x + y)
MORPHAX_BINARY(sub_u32, u32, u32, x - y)
MORPHAX_BINARY(mul_u32, u32, u32, x* y)

MORPHAX_UNARY(neg_f32, f32, f32, -x)
MORPHAX_UNARY(neg_u32, u32, u32, u32{0} - x)
MORPHAX_UNARY(abs_f32, f32, f32, __builtin_fabsf(x))
MORPHAX_UNARY(square_f32, f32, f32, x* x)
MORPHAX_UNARY(floor_f32, f32, f32, __builtin_floorf(x))
MORPHAX_UNARY(ceil_f32, f32, f32, __builtin_ceilf(x))
MORPHAX_UNARY(rint_f32, f32, f32, __builtin_rintf(x))
MORPHAX_UNARY(round_f32, f32, f32, __builtin_roundf(x))
MORPHAX_UNARY(is_finite_f32, f32, u32, (elementary::bits_as<u32>(x) & 0x7f800000) != 0x7f800000)
MORPHAX_UNARY(sign_f32, f32, f32, x != x ? x : x == 0 ? x : __builtin_copysignf(1, x))
MORPHAX_UNARY(sign_i32, i32, i32, (x > 0) - (x < 0))
MORPHAX_UNARY(abs_i32, i32, u32, x < 0 ? u32{0} - static_cast<u32>(x) : static_cast<u32>(x))
MORPHAX_UNARY(sqrt_f32, f32, f32, __builtin_sqrtf(x))
MORPHAX_UNARY(rsqrt_f32, f32, f32, 1 / __builtin_sqrtf(x))

MORPHAX_BINARY(max_f32, f32, f32, larger(x, y))
MORPHAX_BINARY(min_f32, f32, f32, smaller(x, y))

// The quotient in double precision is as far from integers as its rounding is not: x / y is at
// least 1 / |y| away, |y| < 2²⁴, and below 2²⁷ it is rounded by less than 2⁻²⁶.  The rest is exact.
constexpr double kQuotients = 134217728;

MORPHAX_INLINE bool has_quick_remainder(f32 x, f32 y) {
  return std::fabs(static_cast<double>(x) / y) < kQuotients &&
         std::fabs(y) < std::numeric_limits<f32>::infinity();
}

// Of others any number; whether there are any.
MORPHAX_VECTORIZED
bool quick_remainders(std::size_t count, const f32* xs, const f32* ys, f32* results) {
  int slow = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = xs[i], y = ys[i];
    const double rest = x - __builtin_trunc(x / y) * y;
    results[i] = __builtin_copysignf(static_cast<f32>(rest), xs[i]);
    slow |= !has_quick_remainder(xs[i], ys[i]);
  }
  return slow != 0;
}

void rem_f32(std::size_t count, const void* a, const void* b, const void*, void* out) {
  const auto *xs = static_cast<const f32*>(a), *ys = static_cast<const f32*>(b);
  auto* results = static_cast<f32*>(out);
  if (!quick_remainders(count, xs, ys, results)) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!has_quick_remainder(xs[i], ys[i])) results[i] = std::fmod(xs[i], ys[i]);
  }
}

// Of integers, truncated; by zero, all bits are set, and the remainder is the dividend.  Quotients
// of 32 bits are exact in double precision, which vectors have.
MORPHAX_INLINE i32 quotient(i32 x, i32 y) {
  const double divisor = y == 0 || y == -1 ? 1 : y;
  const u32 bits = static_cast<u32>(static_cast<i32>(x / divisor));
  return y == 0 ? -1 : static_cast<i32>(y == -1 ? u32{0} - bits : bits);
}
MORPHAX_BINARY(div_i32, i32, i32, quotient(x, y))
MORPHAX_BINARY(rem_i32, i32, i32,
               y == 0 ? x
                      : static_cast<i32>(static_cast<u32>(x) -
                                         static_cast<u32>(quotient(x, y)) * static_cast<u32>(y)))
MORPHAX_BINARY(max_i32, i32, i32, x > y ? x : y)
MORPHAX_BINARY(min_i32, i32, i32, x < y ? x : y)
MORPHAX_BINARY(max_u32, u32, u32, x > y ? x : y)
MORPHAX_BINARY(min_u32, u32, u32, x < y ? x : y)

// Numbers of one sign follow each other as their bits do, and next to 0 is the smallest.
MORPHAX_INLINE f32 neighbour(f32 x, f32 y) {
  const u32 bits = elementary::bits_as<u32>(x), sign = elementary::bits_as<u32>(y) & 0x80000000;
  const u32 next = x == 0 ? sign | 1 : (x < y) == (x > 0) ? bits + 1 : bits - 1;
  return x == y ? y : x != x || y != y ? x + y : elementary::bits_as<f32>(next);
}
MORPHAX_BINARY(nextafter_f32, f32, f32, neighbour(x, y))

MORPHAX_BINARY(eq_f32, f32, u32, x == y)
MORPHAX_BINARY(ne_f32, f32, u32, x != y)
MORPHAX_BINARY(lt_f32, f32, u32, x < y)
MORPHAX_BINARY(le_f32, f32, u32, x <= y)
MORPHAX_BINARY(eq_u32, u32, u32, x == y)
MORPHAX_BINARY(ne_u32, u32, u32, x != y)
MORPHAX_BINARY(lt_i32, i32, u32, x < y)
MORPHAX_BINARY(le_i32, i32, u32, x <= y)
MORPHAX_BINARY(lt_u32, u32, u32, x < y)
MORPHAX_BINARY(le_u32, u32, u32, x <= y)
MORPHAX_BINARY(gt_f32, f32, u32, x > y)
MORPHAX_BINARY(ge_f32, f32, u32, x >= y)
MORPHAX_BINARY(gt_i32, i32, u32, x > y)
MORPHAX_BINARY(ge_i32, i32, u32, x >= y)
MORPHAX_BINARY(gt_u32, u32, u32, x > y)
MORPHAX_BINARY(ge_u32, u32, u32, x >= y)

MORPHAX_BINARY(and_u32, u32, u32, x& y)
MORPHAX_BINARY(or_u32, u32, u32, x | y)
MORPHAX_BINARY(xor_u32, u32, u32, x ^ y)
MORPHAX_UNARY(not_u32, u32, u32, ~x)
MORPHAX_UNARY(not_bool, u32, u32, x ^ 1)
MORPHAX_BINARY(shift_left, u32, u32, y < 32 ? x << (y & 31) : 0)
MORPHAX_BINARY(shift_right, u32, u32, y < 32 ? x >> (y & 31) : 0)
MORPHAX_BINARY(shift_right_signed, i32, i32, x >> (static_cast<u32>(y) < 32 ? y : 31))

// Bits are added to their neighbours, pairs to pairs, and half bytes at once.
MORPHAX_INLINE u32 count_of_bits(u32 x) {
  x -= (x >> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
  return (((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101) >> 24;
}
MORPHAX_UNARY(population_count, u32, u32, count_of_bits(x))
MORPHAX_UNARY(clz, u32, u32, x == 0 ? 32 : static_cast<u32>(__builtin_clz(x)))
MORPHAX_UNARY(copy, u32, u32, x)
MORPHAX_UNARY(f32_of_i32, i32, f32, static_cast<f32>(x))
MORPHAX_UNARY(f32_of_u32, u32, f32, static_cast<f32>(x))

MORPHAX_VECTORIZED_INTEGERS
void select(std::size_t count, const void* a, const void* b, const void* c, void* out) {
  const auto *which = static_cast<const u32*>(a), *no = static_cast<const u32*>(b);
  const auto* yes = static_cast<const u32*>(c);
  auto* results = static_cast<u32*>(out);
  for (std::size_t i = 0; i < count; ++i) results[i] = which[i] ? yes[i] : no[i];
}

// The nearest number of a float format with so many bits of exponent and mantissa, ties to even;
// above its range ∞, below 0.
MORPHAX_INLINE u32 rounded_to_format(u32 bits, u32 exponent_bits, u32 mantissa_bits) {
  const u32 magnitude = bits & 0x7fffffff;
  const u32 dropped = mantissa_bits < 23 ? 23 - mantissa_bits : 0;
  const u32 clear = (u32{1} << dropped) - 1, odd = dropped ? (magnitude >> dropped) & 1 : 0;
  u32 rounded = (magnitude + (clear >> 1) + odd) & ~clear;
  if (exponent_bits < 8) {
    const u32 reach = (u32{1} << (exponent_bits - 1)) - 1, exponent = rounded >> 23;
    rounded = exponent > 127 + reach ? 0x7f800000 : exponent + reach <= 127 ? 0 : rounded;
  }
  return magnitude > 0x7f800000 ? bits : rounded | (bits & 0x80000000);
}
MORPHAX_VECTORIZED
void reduce_precision(std::size_t count, const void* a, const void* b, const void* c, void* out) {
  const auto *xs = static_cast<const u32*>(a), *exponents = static_cast<const u32*>(b);
  const auto* mantissas = static_cast<const u32*>(c);
  auto* results = static_cast<u32*>(out);
  if (count == 0) return;
  const u32 exponent_bits = *exponents, mantissa_bits = *mantissas;
  for (std::size_t i = 0; i < count; ++i) {
    results[i] = rounded_to_format(xs[i], exponent_bits, mantissa_bits);
  }
}

// Towards zero, at the ends of the range what is beyond, and 0 for NaN.
MORPHAX_UNARY(i32_of_f32, f32, i32,
              x != x              ? 0
              : x >= 2147483648.f ? std::numeric_limits<i32>::max()
              : x < -2147483648.f ? std::numeric_limits<i32>::min()
                                  : static_cast<i32>(x))

// Of the middle one, between the others.
MORPHAX_TERNARY(clamp_f32, f32, f32, smaller(larger(x, y), z))
MORPHAX_TERNARY(clamp_i32, i32, i32, smaller_integer(larger_integer(x, y), z))

MORPHAX_UNARY(erf_inv_f32, f32, f32, inverse_erf(x))

MORPHAX_VECTORIZED_WIDE
void erf_f32(std::size_t count, const void* a, const void*, const void*, void* out) {
  const auto* xs = static_cast<const f32*>(a);
  auto* results = static_cast<f32*>(out);
  for (std::size_t i = 0; i < count; ++i) results[i] = elementary::error_function(xs[i]);
}

MORPHAX_TERNARY(mul_add_f32, f32, f32, x* y + z)

constexpr Operation kOperations[] = {
    {"add_float32", 2, add_f32},
    {"sub_float32", 2, sub_f32},
    {"mul_float32", 2, mul_f32},
    {"div_float32", 2, div_f32},
    {"neg_float32", 1, neg_f32},
    {"abs_float32", 1, abs_f32},
    {"square_float32", 1, square_f32},
    {"floor_float32", 1, floor_f32},
    {"ceil_float32", 1, ceil_f32},
    {"round_even_float32", 1, rint_f32},
    {"round_away_float32", 1, round_f32},
    {"is_finite_float32", 1, is_finite_f32},
    {"sign_float32", 1, sign_f32},
    {"sign_int32", 1, sign_i32},
    {"abs_int32", 1, abs_i32},
    {"rem_float32", 2, rem_f32},
    {"rem_int32", 2, rem_i32},
    {"div_int32", 2, div_i32},
    {"clamp_float32", 3, clamp_f32},
    {"clamp_int32", 3, clamp_i32},
    {"int32_of_float32", 1, i32_of_f32},
    {"sqrt_float32", 1, sqrt_f32},
    {"rsqrt_float32", 1, rsqrt_f32},
    {"exp_float32", 1, exponentials::exp},
    {"logistic_float32", 1, exponentials::logistic},
    {"tanh_float32", 1, exponentials::tanh},
    {"exp2_float32", 1, exponentials::exp2},
    {"expm1_float32", 1, elementary_functions::expm1},
    {"log_float32", 1, exponentials::log},
    {"log1p_float32", 1, exponentials::log1p},
    {"sinh_float32", 1, elementary_functions::sinh},
    {"cosh_float32", 1, exponentials::cosh},
    {"asinh_float32", 1, elementary_functions::asinh},
    {"acosh_float32", 1, elementary_functions::acosh},
    {"atanh_float32", 1, elementary_functions::atanh},
    {"erf_float32", 1, erf_f32},
    {"erf_inv_float32", 1, erf_inv_f32},
    {"bessel_i0e_float32", 1, special_functions::bessel_i0e},
    {"bessel_i1e_float32", 1, special_functions::bessel_i1e},
    {"erfc_float32", 1, special_functions::erfc},
    {"pow_float32", 2, special_functions::power},
    {"lgamma_float32", 1, special_functions::lgamma},
    {"digamma_float32", 1, special_functions::digamma},
    {"zeta_float32", 2, special_functions::zeta},
    {"polygamma_float32", 2, special_functions::polygamma},
    {"igamma_float32", 2, incomplete_gamma::lower},
    {"igammac_float32", 2, incomplete_gamma::upper},
    {"log_scaled_factorial_float32", 1, deviances::log_scaled_factorial},
    {"deviance_float32", 3, deviances::deviance},
    {"density_deviance_float32", 3, deviances::density_deviance},
    {"full_distance_from_product_float32", 3, deviances::full_distance_from_product},
    {"whole_distance_from_product_float32", 3, deviances::whole_distance_from_product},
    {"broken_distance_from_product_float32", 3, deviances::broken_distance_from_product},
    {"binomial_excess_float32", 3, deviances::excess},
    {"reduce_precision_float32", 3, reduce_precision},
    {"nextafter_float32", 2, nextafter_f32},
    {"population_count_int32", 1, population_count},
    {"population_count_uint32", 1, population_count},
    {"clz_int32", 1, clz},
    {"clz_uint32", 1, clz},
    {"max_float32", 2, max_f32},
    {"min_float32", 2, min_f32},
    {"max_int32", 2, max_i32},
    {"min_int32", 2, min_i32},
    {"max_uint32", 2, max_u32},
    {"min_uint32", 2, min_u32},
    {"eq_float32", 2, eq_f32},
    {"ne_float32", 2, ne_f32},
    {"lt_float32", 2, lt_f32},
    {"le_float32", 2, le_f32},
    {"gt_float32", 2, gt_f32},
    {"ge_float32", 2, ge_f32},
    {"lt_int32", 2, lt_i32},
    {"le_int32", 2, le_i32},
    {"gt_int32", 2, gt_i32},
    {"ge_int32", 2, ge_i32},
    {"lt_uint32", 2, lt_u32},
    {"le_uint32", 2, le_u32},
    {"gt_uint32", 2, gt_u32},
    {"ge_uint32", 2, ge_u32},
#define MORPHAX_OF_INTEGERS(DTYPE)                                                      \
  {"add_" DTYPE, 2, add_u32}, {"sub_" DTYPE, 2, sub_u32}, {"mul_" DTYPE, 2, mul_u32},   \
      {"neg_" DTYPE, 1, neg_u32}, {"eq_" DTYPE, 2, eq_u32}, {"ne_" DTYPE, 2, ne_u32},   \
      {"and_" DTYPE, 2, and_u32}, {"or_" DTYPE, 2, or_u32}, {"xor_" DTYPE, 2, xor_u32}, \
      {"not_" DTYPE, 1, not_u32}, {"shift_left_" DTYPE, 2, shift_left},                 \
      {"shift_right_logical_" DTYPE, 2, shift_right},
    MORPHAX_OF_INTEGERS("int32") MORPHAX_OF_INTEGERS("uint32")
#undef MORPHAX_OF_INTEGERS
        {"shift_right_arithmetic_int32", 2, shift_right_signed},
    {"and_bool", 2, and_u32},
    {"or_bool", 2, or_u32},
    {"xor_bool", 2, xor_u32},
    {"not_bool", 1, not_bool},
    {"select_float32", 3, select},
    {"select_int32", 3, select},
    {"select_uint32", 3, select},
    {"select_bool", 3, select},
    {"repeat_float32", 1, copy},
    {"repeat_int32", 1, copy},
    {"repeat_uint32", 1, copy},
    {"repeat_bool", 1, copy},
    {"float32_as_int32", 1, copy},
    {"float32_as_uint32", 1, copy},
    {"int32_as_float32", 1, copy},
    {"int32_as_uint32", 1, copy},
    {"uint32_as_float32", 1, copy},
    {"uint32_as_int32", 1, copy},
    {"float32_of_float32", 1, copy},
    {"int32_of_int32", 1, copy},
    {"uint32_of_uint32", 1, copy},
    {"int32_of_bool", 1, copy},
    {"uint32_of_bool", 1, copy},
    {"float32_of_int32", 1, f32_of_i32},
    {"float32_of_bool", 1, f32_of_i32},
    {"float32_of_uint32", 1, f32_of_u32},
// Numbers of narrow formats are words of float32.
#define MORPHAX_OF_NARROW(DTYPE, ROUND)                                                         \
  {"add_" DTYPE, 2, add_f32, ROUND}, {"sub_" DTYPE, 2, sub_f32, ROUND},                         \
      {"mul_" DTYPE, 2, mul_f32, ROUND}, {"div_" DTYPE, 2, div_f32, ROUND},                     \
      {"neg_" DTYPE, 1, neg_f32, ROUND}, {"abs_" DTYPE, 1, abs_f32, ROUND},                     \
      {"square_" DTYPE, 1, square_f32, ROUND}, {"floor_" DTYPE, 1, floor_f32, ROUND},           \
      {"ceil_" DTYPE, 1, ceil_f32, ROUND}, {"round_even_" DTYPE, 1, rint_f32, ROUND},           \
      {"round_away_" DTYPE, 1, round_f32, ROUND}, {"sign_" DTYPE, 1, sign_f32, ROUND},          \
      {"rem_" DTYPE, 2, rem_f32, ROUND}, {"clamp_" DTYPE, 3, clamp_f32, ROUND},                 \
      {"sqrt_" DTYPE, 1, sqrt_f32, ROUND}, {"rsqrt_" DTYPE, 1, rsqrt_f32, ROUND},               \
      {"exp_" DTYPE, 1, exponentials::exp, ROUND},                                              \
      {"logistic_" DTYPE, 1, exponentials::logistic, ROUND}, {"erf_" DTYPE, 1, erf_f32, ROUND}, \
      {"exp2_" DTYPE, 1, exponentials::exp2, ROUND},                                            \
      {"expm1_" DTYPE, 1, elementary_functions::expm1, ROUND},                                  \
      {"log_" DTYPE, 1, exponentials::log, ROUND},                                              \
      {"log1p_" DTYPE, 1, exponentials::log1p, ROUND},                                          \
      {"sinh_" DTYPE, 1, elementary_functions::sinh, ROUND},                                    \
      {"cosh_" DTYPE, 1, exponentials::cosh, ROUND},                                            \
      {"tanh_" DTYPE, 1, exponentials::tanh, ROUND},                                            \
      {"asinh_" DTYPE, 1, elementary_functions::asinh, ROUND},                                  \
      {"acosh_" DTYPE, 1, elementary_functions::acosh, ROUND},                                  \
      {"atanh_" DTYPE, 1, elementary_functions::atanh, ROUND},                                  \
      {"erf_inv_" DTYPE, 1, erf_inv_f32, ROUND},                                                \
      {"pow_" DTYPE, 2, special_functions::power, ROUND}, {"max_" DTYPE, 2, max_f32, ROUND},    \
      {"min_" DTYPE, 2, min_f32, ROUND}, {"is_finite_" DTYPE, 1, is_finite_f32},                \
      {"eq_" DTYPE, 2, eq_f32}, {"ne_" DTYPE, 2, ne_f32}, {"lt_" DTYPE, 2, lt_f32},             \
      {"le_" DTYPE, 2, le_f32}, {"gt_" DTYPE, 2, gt_f32}, {"ge_" DTYPE, 2, ge_f32},             \
      {"select_" DTYPE, 3, select}, {"repeat_" DTYPE, 1, copy}, {DTYPE "_of_" DTYPE, 1, copy},  \
      {"float32_of_" DTYPE, 1, copy}, {"int32_of_" DTYPE, 1, i32_of_f32},                       \
      {DTYPE "_of_float32", 1, copy, ROUND}, {DTYPE "_of_bool", 1, f32_of_i32},
    MORPHAX_OF_NARROW("bfloat16", round_to_bfloat16) MORPHAX_OF_NARROW("float16", round_to_float16)
#undef MORPHAX_OF_NARROW
        {kDraw, 1, nullptr},
};

}  // namespace

Loop product_with_sum(Loop product, Loop sum) {
  static const Loop of_words[] = {find("mul_float32")->loop, find("add_float32")->loop},
                    of_wide[] = {find("mul_float64")->loop, find("add_float64")->loop};
  if (product == of_words[0] && sum == of_words[1]) return mul_add_f32;
  if (product == of_wide[0] && sum == of_wide[1]) return wide_product_with_sum();
  return nullptr;
}

const Operation* find(std::string_view name) {
  for (const Operations& all :
       {Operations{kOperations, std::size(kOperations)}, wide_operations(), compositions()}) {
    const Operation* end = all.first + all.count;
    const Operation* found =
        std::find_if(all.first, end, [name](const Operation& one) { return one.name == name; });
    if (found != end) return found;
  }
  return nullptr;
}

void for_each_name(void (*visit)(std::string_view name, void* data), void* data) {
  for (const Operations& all :
       {Operations{kOperations, std::size(kOperations)}, wide_operations(), compositions()}) {
    for (std::size_t i = 0; i < all.count; ++i) visit(all.first[i].name, data);
  }
}

}  // namespace morphax::fused
