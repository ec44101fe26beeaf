// Scaled factorials and deviances; `morphax/scipy/special/_deviances.py` tells what they are.
//
// Each is one straight line of selections, which vectorises, for the numbers that programs meet;
// what lies beyond, where logarithms are of numbers that are not normal, is computed again, one by
// one, with the C library's logarithm.
#include "deviances.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels.h"
#include "log_gamma.h"
#include "wide_elementary.h"

namespace morphax::deviances {

namespace {

using wide::kInfinity;
using wide::polynomial;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// The logarithm of the straight lines, and that of all numbers.
struct Quick {
  MORPHAX_INLINE static float log(float x) { return elementary::logarithm(x); }
  MORPHAX_INLINE static double log(double x) { return wide::precise_logarithm(x); }
};
struct Library {
  static double log(double x) { return std::log(x); }
};

// S(x) − ½ log x for x ≥ 1 in 2/x − 1, and S(x) / x + log x below in 2x − 1, where S is the result.
MORPHAX_INLINE float above_one(float v) {
  constexpr float kSeries[] = {1.010260461451611e-06f,   -2.3536266135376504e-06f,
                               -3.7900124056889488e-06f, 4.999405886746204e-05f,
                               -0.00019217761139677959f, -0.0008576033956258674f,
                               0.04072569122741195f,     0.9602792305910731f};
  return elementary::polynomial(kSeries, v);
}
MORPHAX_INLINE double above_one(double v) { return polynomial(log_gamma::kAboveOne, v); }
MORPHAX_INLINE float below_one(float v) {
  constexpr float kSeries[] = {6.231419583089148e-06f,  -2.0667134582176008e-05f,
                               5.3866095292662394e-05f, -0.00018581313242089833f,
                               0.0006726344839571714f,  -0.0024831549879129667f,
                               0.009820648805363943f,   -0.04435371412199461f,
                               0.278054450387209f,      0.758435521022656f};
  return elementary::polynomial(kSeries, v);
}
MORPHAX_INLINE double below_one(double v) {
  constexpr double kSeries[] = {
      7.639092521777215e-12,   -2.3933398839462246e-11, 3.311835672167677e-11,
      -1.0474712795206161e-10, 4.320413056213583e-10,   -1.3699500407040754e-09,
      4.224420317065063e-09,   -1.3498077369276839e-08, 4.3429278490077415e-08,
      -1.4006572569595664e-07, 4.5435332271160426e-07,  -1.484540063588933e-06,
      4.892819541320356e-06,   -1.6302861339725934e-05, 5.5097616218622696e-05,
      -0.0001898258024931559,  0.0006721846829855331,   -0.0024816898010490236,
      0.009820705603133714,    -0.044353899112896854,   0.27805444924906697,
      0.7584355247295096};
  return polynomial(kSeries, v);
}

template <typename Logarithm, typename Number>
MORPHAX_INLINE Number scaled_factorial_of(Number x) {
  const bool is_small = x < 1;
  const Number log = Logarithm::log(x > 0 ? x : 1), inverse = 1 / (is_small ? 1 : x);
  const Number large = log / 2 + above_one(2 * inverse - 1);
  return is_small ? x * (below_one(2 * x - 1) - log) : large;
}

double any_scaled_factorial(double x) { return x < 0 ? kNan : scaled_factorial_of<Library>(x); }

// (artanh s − s) / s³ for |s| < 1/3.
MORPHAX_INLINE float artanh_rest(float square) {
  constexpr float kSeries[] = {0.11612164612011674f, 0.10853287900440187f, 0.14296178997151418f,
                               0.1999985316596486f, 0.3333333366026371f};
  return elementary::polynomial(kSeries, square);
}
MORPHAX_INLINE double artanh_rest(double square) {
  constexpr double kSeries[] = {0.07815288900461426, 0.03746071897775383, 0.05422589197440007,
                                0.05867139530651599, 0.06667589315724629, 0.07692271982430275,
                                0.09090909948981357, 0.11111111099118386, 0.1428571428580005,
                                0.19999999999999762, 0.3333333333333333};
  return polynomial(kSeries, square);
}

template <typename Logarithm, int powers, typename Number>
MORPHAX_INLINE Number deviance_of(Number x, Number y, Number distance) {
  const Number sum = x + y;
  const bool is_near = std::abs(distance) < sum * static_cast<Number>(1 / 3.);
  const Number s = (is_near ? distance : 0) / (is_near ? sum : 1), square = s * s;
  const Number rest = square * artanh_rest(square);
  const Number near = s * (distance - 2 * x * rest) + 2 * powers * (s + s * rest);
  const Number far = distance + (x - powers) * Logarithm::log(x / y);
  return is_near ? near : far;
}

template <int powers>
double any_deviance(double x, double y, double distance) {
  if (std::abs(distance) == kInfinity) return kInfinity;
  if (y == 0 && (powers > 0 || x > 0)) return x < powers ? -kInfinity : x > powers ? kInfinity : -x;
  if (powers == 0 && (x == 0 || x < y * 1e-300)) return y;
  // The quotient by the least numbers would be infinite.
  constexpr double kScale = 0x1p600, kLogOfScale = 600 * 0.69314718055994530942;
  if (y > 0 && y < 1e-280)
    return distance + (x - powers) * (std::log(x / (y * kScale)) + kLogOfScale);
  if (powers > 0 && x > 0 && x < y * 1e-290)
    return distance + (x - powers) * (std::log(x) - std::log(y));
  return deviance_of<Library, powers>(x, y, distance);
}

MORPHAX_INLINE double excess_of(double a, double b, double x) { return x * b - (1 - x) * a; }
MORPHAX_INLINE double full_distance(double x, double n, double p) { return n * p - x; }
MORPHAX_INLINE double whole_distance(double x, double n, double p) {
  return __builtin_floor(n * p - x);
}
MORPHAX_INLINE double broken_distance(double x, double n, double p) {
  const double distance = n * p - x;
  return distance - __builtin_floor(distance);
}

// Where quotients, and what logarithms are taken of, are normal.
MORPHAX_INLINE bool is_regular(float x, float y, float) {
  return (x > 1e-18f) & (x < 1e18f) & (y > 1e-18f) & (y < 1e18f);
}
MORPHAX_INLINE bool is_regular(double x, double y, double) {
  return (x > 1e-140) & (x < 1e140) & (y > 1e-140) & (y < 1e140);
}
MORPHAX_INLINE bool is_regular(double x) { return (x == 0) | ((x > 1e-140) & (x < 1e140)); }
MORPHAX_INLINE bool is_regular(float x) { return (x == 0) | ((x > 1e-37f) & (x < 1e37f)); }

// Results one by one, where the numbers are not those of the straight line.
template <typename Number, typename Function, typename... Numbers>
[[gnu::noinline]] void mended(std::size_t count, Number* results, Function function,
                              const Numbers*... numbers) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_regular(numbers[i]...))
      results[i] = static_cast<Number>(function(static_cast<double>(numbers[i])...));
  }
}

}  // namespace

// Functions one by one: compilers make several versions of plain functions only.  Those of float64
// round each product and each sum, as their twins do.
#define MORPHAX_LOOPS(VERSIONS, NUMBER, WORD, PREFIX)                                              \
  namespace {                                                                                      \
  VERSIONS bool PREFIX##regular_factorials(std::size_t count, const NUMBER* xs, NUMBER* results) { \
    WORD others = 0;                                                                               \
    for (std::size_t i = 0; i < count; ++i) {                                                      \
      results[i] = scaled_factorial_of<Quick>(xs[i]);                                              \
      others |= !is_regular(xs[i]);                                                                \
    }                                                                                              \
    return others == 0;                                                                            \
  }                                                                                                \
  VERSIONS bool PREFIX##regular_deviances(std::size_t count, const NUMBER* xs, const NUMBER* ys,   \
                                          const NUMBER* distances, NUMBER* results) {              \
    WORD others = 0;                                                                               \
    for (std::size_t i = 0; i < count; ++i) {                                                      \
      results[i] = deviance_of<Quick, 0>(xs[i], ys[i], distances[i]);                              \
      others |= !is_regular(xs[i], ys[i], distances[i]);                                           \
    }                                                                                              \
    return others == 0;                                                                            \
  }                                                                                                \
  VERSIONS bool PREFIX##regular_densities(std::size_t count, const NUMBER* xs, const NUMBER* ys,   \
                                          const NUMBER* distances, NUMBER* results) {              \
    WORD others = 0;                                                                               \
    for (std::size_t i = 0; i < count; ++i) {                                                      \
      results[i] = deviance_of<Quick, 1>(xs[i], ys[i], distances[i]);                              \
      others |= !is_regular(xs[i], ys[i], distances[i]);                                           \
    }                                                                                              \
    return others == 0;                                                                            \
  }                                                                                                \
  }                                                                                                \
  void PREFIX##log_scaled_factorial(std::size_t count, const void* x, const void*, const void*,    \
                                    void* out) {                                                   \
    const auto* xs = static_cast<const NUMBER*>(x);                                                \
    auto* results = static_cast<NUMBER*>(out);                                                     \
    if (!PREFIX##regular_factorials(count, xs, results))                                           \
      mended(count, results, any_scaled_factorial, xs);                                            \
  }                                                                                                \
  void PREFIX##deviance(std::size_t count, const void* x, const void* y, const void* distance,     \
                        void* out) {                                                               \
    const auto *xs = static_cast<const NUMBER*>(x), *ys = static_cast<const NUMBER*>(y);           \
    const auto* distances = static_cast<const NUMBER*>(distance);                                  \
    auto* results = static_cast<NUMBER*>(out);                                                     \
    if (!PREFIX##regular_deviances(count, xs, ys, distances, results))                             \
      mended(count, results, any_deviance<0>, xs, ys, distances);                                  \
  }                                                                                                \
  void PREFIX##density_deviance(std::size_t count, const void* x, const void* y,                   \
                                const void* distance, void* out) {                                 \
    const auto *xs = static_cast<const NUMBER*>(x), *ys = static_cast<const NUMBER*>(y);           \
    const auto* distances = static_cast<const NUMBER*>(distance);                                  \
    auto* results = static_cast<NUMBER*>(out);                                                     \
    if (!PREFIX##regular_densities(count, xs, ys, distances, results))                             \
      mended(count, results, any_deviance<1>, xs, ys, distances);                                  \
  }

// In double precision, and rounded once.
#define MORPHAX_PRODUCTS(VERSIONS, NUMBER, NAME, FUNCTION)                                        \
  VERSIONS void NAME(std::size_t count, const void* a, const void* b, const void* c, void* out) { \
    const auto *as = static_cast<const NUMBER*>(a), *bs = static_cast<const NUMBER*>(b);          \
    const auto* cs = static_cast<const NUMBER*>(c);                                               \
    auto* results = static_cast<NUMBER*>(out);                                                    \
    for (std::size_t i = 0; i < count; ++i)                                                       \
      results[i] = static_cast<NUMBER>(FUNCTION(as[i], bs[i], cs[i]));                            \
  }

MORPHAX_LOOPS(MORPHAX_VECTORIZED_WIDE, float, std::uint32_t, )
MORPHAX_LOOPS(MORPHAX_VECTORIZED, double, std::uint64_t, wide_)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED_WIDE, float, excess, excess_of)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED, double, wide_excess, excess_of)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED_WIDE, float, full_distance_from_product, full_distance)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED, double, wide_full_distance_from_product, full_distance)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED_WIDE, float, whole_distance_from_product, whole_distance)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED, double, wide_whole_distance_from_product, whole_distance)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED_WIDE, float, broken_distance_from_product, broken_distance)
MORPHAX_PRODUCTS(MORPHAX_VECTORIZED, double, wide_broken_distance_from_product, broken_distance)

}  // namespace morphax::deviances
