// The incomplete gamma functions and their slopes: the compiled form of
// `morphax/lax/elementwise/incomplete_gamma_formulas.py`, where the ways are told and papers named.
//
// Each element goes one way alone, for as many steps as it needs.  All is computed in double
// precision and rounded once.
#include "incomplete_gamma.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "parts.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace morphax::incomplete_gamma {

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kStartOfUniform = 30, kStartOfFraction = 1.1, kStartOfStirling = 10;
constexpr double kMostSteps = 1000;
constexpr double kOfSingle = 1e-9;                // a precision beyond this is that of float32
constexpr std::int64_t kWorthDividing = 1 << 12;  // elements

// Chebyshev series of log Γ(1 + a) / a on [0, 1].
constexpr double kLogGammaNearOne[] = {
    -0.2647362369323025,     0.28587285859139466,    -0.0235145763321575,
    0.002685079974656731,    -0.0003497552715727561, 4.880755320003236e-05,
    -7.098358790485804e-06,  1.060746616681459e-06,  -1.6155933858435658e-07,
    2.4955218012272827e-08,  -3.896697345119788e-09, 6.137352658308378e-10,
    -9.734966110649396e-11,  1.5533015630980043e-11, -2.4909467297324567e-12,
    4.0120228240690907e-13,  -6.486576014785499e-14, 1.0522714222232995e-14,
    -1.7121447861626466e-15, 2.7933134227060694e-16, -4.568268129156648e-17,
    7.487532521050853e-18,   -1.2296930690028795e-18};

// The coefficients of ηⁿ in Cₖ(η), a row for each k, and how many there are.
constexpr int kTerms = 11;
constexpr double kTemme[kTerms][16] = {
    {-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
     0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06,
     -1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09,
     1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11},
    {-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
     0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06,
     -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
     1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09},
    {0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
     -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08,
     1.3721957309062934e-06, -6.298992138380055e-07, 1.4280614206064242e-07,
     -2.0477098421990866e-10, -1.409252991086752e-08, 6.228974084922022e-09},
    {0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885,
     -7.561801671883977e-05, -2.396505113867297e-07, 1.1082654115347302e-05,
     -5.6749528269915965e-06, 1.4230900732435883e-06, -2.7861080291528143e-11,
     -1.6958404091930278e-07, 8.099464905388083e-08},
    {-0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.4638452578843418e-06,
     6.641498215465122e-05, -3.968365047179435e-05, 1.1375726970678419e-05, 2.507497226237533e-10,
     -1.6954149536558305e-06, 8.907507532205309e-07, -2.292934834000805e-07},
    {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
     -0.00019932570516188847, 6.797780477937208e-05, 1.419062920643967e-07, -1.3594048189768693e-05,
     8.018470256334202e-06, -2.291481176508095e-06},
    {0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045, 7.902353232660328e-07,
     -8.153969367561969e-05, 5.61168275310625e-05, -1.8329116582843375e-05},
    {0.00034436760689237765, 5.171790908260592e-05, -0.00033493161081142234, 0.0002812695154763237,
     -0.00010976582244684731},
    {-0.0006526239185953094, 0.0008394987206720873, -0.000438297098541721, -6.969091458420552e-07,
     0.00016644846642067547},
    {-0.0005967612901927463, -7.204895416020011e-05, 0.0006782308837667328},
    {0.0013324454494800656},
};
constexpr int kLengths[kTerms] = {16, 15, 14, 12, 11, 9, 7, 5, 5, 3, 1};

template <std::size_t kCount>
inline double polynomial(const double (&coefficients)[kCount], double x) {
  double value = coefficients[0];
  for (std::size_t i = 1; i < kCount; ++i) value = value * x + coefficients[i];
  return value;
}

// log(1 + x) − x, given 1 + x.
inline double log1p_minus(double x, double following) {
  constexpr double kSeries[] = {1 / 23., 1 / 21., 1 / 19., 1 / 17., 1 / 15., 1 / 13.,
                                1 / 11., 1 / 9.,  1 / 7.,  1 / 5.,  1 / 3.};
  if (!(std::abs(x) < 0.3)) return std::log(following) - x;
  const double s = x / (x + 2);
  return 2 * s * s * s * polynomial(kSeries, s * s) - x * s;
}

// log Γ(1 + a) for 0 ≤ a ≤ 10, with all its digits where a is small.
inline double log_gamma_of_next(double a, double precision = 0) {
  double product = 1;
  for (; a > 1; a -= 1) product *= a;
  const double u = 2 * a - 1;
  double current = 0, previous = 0;
  // The first coefficients are of more than single precision.
  constexpr int kAll = static_cast<int>(std::size(kLogGammaNearOne)), kFew = 14;
  for (int i = (precision > kOfSingle ? kFew : kAll) - 1; i > 0; --i) {
    const double next = 2 * u * current - previous + kLogGammaNearOne[i];
    previous = current;
    current = next;
  }
  const double near = a * (u * current - previous + kLogGammaNearOne[0]);
  return product == 1 ? near : near + std::log(product);
}

// log of the scaled gamma function, for a > 0.
inline double log_scaled_gamma(double a) {
  constexpr double kStirling[] = {1 / 156.,  -691 / 360360., 1 / 1188., -1 / 1680.,
                                  1 / 1260., -1 / 360.,      1 / 12.};
  if (a >= kStartOfStirling) return polynomial(kStirling, (1 / a) * (1 / a)) / a;
  return log_gamma_of_next(a) + a - (a + 0.5) * std::log(a) - 0.5 * std::log(2 * kPi);
}

// ψ(a) for a > 0: moved up by the recurrence, and there the asymptotic series (DLMF 5.11.2).
inline double digamma(double a) {
  constexpr double kSeries[] = {-0.4432598039215686, 1 / 12.,  -691 / 32760., 1 / 132.,
                                -1 / 240.,           1 / 252., -1 / 120.,     1 / 12.};
  double below = 0;
  for (int k = 0; k < 10; ++k) below += 1 / (a + k);
  const double inverse = 1 / (a + 10), square = inverse * inverse;
  return std::log(a + 10) - 0.5 * inverse - polynomial(kSeries, square) * square - below;
}

// xᵃ e⁻ˣ / Γ(a+1) for 0 < a < 10, x > 0, with 14 digits: by Lanczos' form of Γ, see gamma_parts.py.
inline double factor_of_single(double a, double x) {
  constexpr double kShift = 7.4, kScale = 652.66335920381294;  // h, and eʰ / √2π
  constexpr double kLanczos[] = {
      1.0,
      59.163333333333334,
      1531.3853388888883,
      22650.588114006231,
      209389.90063684225,
      1238834.2978396161,
      4580912.8370976855,
      9679526.6358460499,
      8948198.8838016118,
  };
  const double above = a + kShift;
  const double pairs = (a + 1) * (a + 2) * ((a + 3) * (a + 4)), rest = (a + 5) * (a + 6) * (a + 7);
  const double power = std::exp(a * std::log(x / above) + (a - x)) * kScale;
  return power * std::sqrt(above) * (pairs * rest) / polynomial(kLanczos, a);
}

// D = xᵃ e⁻ˣ / Γ(a+1) for a > 0, x > 0.
inline double leading_factor(double a, double x, double precision) {
  if (a >= kStartOfStirling) {
    const double exponent = a * log1p_minus((x - a) / a, x / a);
    return std::exp(exponent - log_scaled_gamma(a)) / std::sqrt(2 * kPi * a);
  }
  if (precision > kOfSingle) return factor_of_single(a, x);
  // Beyond, the exponential is 0 and the power might overflow.
  const double bounded = std::min(x, 1e4);
  return std::pow(bounded, a) * std::exp(-bounded) * std::exp(-log_gamma_of_next(a));
}

// A sum, and its derivative with respect to a.
struct Sum {
  double value, slope;
};

// Whether the last term is not yet negligible beside a sum.
inline bool changes(double term, double sum, double precision) {
  return std::abs(term) > precision * std::abs(sum);
}

// Σₙ xⁿ / ((a+1) … (a+n)).
template <bool kSloped>
Sum series(double a, double x, double precision) {
  double n = 0, t = 1, s = 1, dt = 0, ds = 0;
  while ((changes(t, s, precision) || (kSloped && changes(dt, ds, precision))) && n < kMostSteps) {
    n += 1;
    const double inverse = 1 / (a + n), ratio = x * inverse;
    if (kSloped) {
      dt = (dt - t * inverse) * ratio;
      ds += dt;
    }
    t *= ratio;
    s += t;
  }
  return {s, ds};
}

// The value of the series alone, four terms at a time, which take one division.
double sum_of_series(double a, double x, double precision) {
  constexpr double kMost = 1e70;  // beyond, products of four denominators overflow
  if (a > kMost) return series<false>(a, x, precision).value;
  double t = 1, s = 1;
  for (double n = a + 1; changes(t, s, precision) && n - a < kMostSteps; n += 4) {
    const double last = n + 3, outer = (n + 2) * last;
    const double scaled = t * x / (n * (n + 1) * outer);
    s += scaled * ((n + 1) * outer + x * (outer + x * (last + x)));
    t = scaled * x * x * x;
  }
  return s;
}

// Legendre's continued fraction, summed as Gautschi's series.
template <bool kSloped>
Sum fraction(double a, double x, double precision) {
  const double first = 1 / (x + 1 - a);
  double k = 0, i = first, r = 0, t = 1, s = 1, dr = 0, dt = 0, ds = 0;
  while ((changes(t, s, precision) || (kSloped && changes(dt, ds, precision))) && k < kMostSteps) {
    k += 1;
    const double following = 1 / (x + 1 - a + 2 * k), product = i * following * k;
    const double c = product * (k - a), v = c * (1 + r);
    const double dv = (c * (i + following) - product) * (1 + r) + c * dr;
    const double inverse = 1 / (1 - v);
    r = v * inverse;
    if (kSloped) {
      dr = dv * inverse * inverse;
      dt = r * dt + dr * t;
      ds += dt;
    }
    t *= r;
    s += t;
    i = following;
  }
  return {s * first, (ds + s * first) * first};
}

// Temme's expansion: Q = ½ erfc(η √(a/2)) + R T.
struct Uniform {
  double eta, factor, sum, by_eta, by_a;
};

Uniform uniform(double a, double distance) {
  const double half_square = -log1p_minus(distance, distance + 1);
  const double eta = std::copysign(std::sqrt(2 * half_square), distance), inverse = 1 / a;
  double total = 0, by_eta = 0, by_inverse = 0;
  for (int k = kTerms - 1; k >= 0; --k) {
    double value = 0, slope = 0;
    for (int i = kLengths[k] - 1; i >= 0; --i) {
      slope = slope * eta + value;
      value = value * eta + kTemme[k][i];
    }
    by_inverse = by_inverse * inverse + total;
    total = total * inverse + value;
    by_eta = by_eta * inverse + slope;
  }
  const double factor = std::exp(-a * half_square) / std::sqrt(2 * kPi * a);
  return {eta, factor, total, by_eta, -by_inverse * inverse * inverse};
}

// Q for x ≤ 1.1 and a ≤ 1, where P comes near 1.
double tail_of_small(double a, double x, double precision) {
  const bool is_single = precision > kOfSingle;
  const double exponent = is_single ? 0 : a * std::log(x) - log_gamma_of_next(a);
  const double factor = is_single ? factor_of_single(a, x) : std::exp(exponent - x);
  // What the exponential loses of P is not seen in 1 − P until that is small.
  const double below = factor * sum_of_series(a, x, is_single ? 1e-3 * precision : precision);
  if (below <= (is_single ? 0.999 : 0.5)) return 1 - below;
  double power = -x, term = power / (a + 1), total = term;
  for (int n = 2; n <= 20 && changes(term, total, precision); ++n) {
    power *= -x / n;
    term = power / (a + n);
    total += term;
  }
  const double full = is_single ? a * std::log(x) - log_gamma_of_next(a, precision) : exponent;
  return -std::expm1(full) - std::exp(full) * a * total;
}

enum class Way { kSeries, kFraction, kUniform };

inline Way way_of(double a, double x) {
  if (a >= kStartOfUniform && std::abs((x - a) / a) < 0.3) return Way::kUniform;
  return x >= kStartOfFraction && x >= a ? Way::kFraction : Way::kSeries;
}

// P, or Q if `kUpper`, of positive finite numbers.
template <bool kUpper>
double value(double a, double x, double precision) {
  switch (way_of(a, x)) {
    case Way::kUniform: {
      const Uniform near = uniform(a, (x - a) / a);
      const double sign = kUpper ? 1 : -1;
      return 0.5 * std::erfc(sign * near.eta * std::sqrt(0.5 * a)) + sign * near.factor * near.sum;
    }
    case Way::kFraction: {
      const double above =
          leading_factor(a, x, precision) * a * fraction<false>(a, x, precision).value;
      return kUpper ? above : 1 - above;
    }
    default: {
      if (kUpper && x < 1.1 && a <= 1) return tail_of_small(a, x, precision);
      const double below = leading_factor(a, x, precision) * sum_of_series(a, x, precision);
      return kUpper ? 1 - below : below;
    }
  }
}

// ∂ log x / ∂a at constant P(a, x), of positive finite numbers.
double slope_of_log_sample(double a, double x, double precision) {
  switch (way_of(a, x)) {
    case Way::kUniform: {
      const double distance = (x - a) / a;
      const Uniform near = uniform(a, distance);
      const double ratio = near.eta == 0 ? 1 : distance / near.eta;
      const double slope = ratio - 0.5 * near.eta + (std::log1p(distance) - 0.5 / a) * near.sum;
      return (slope - near.by_eta * ratio / a + near.by_a) / a * std::exp(log_scaled_gamma(a));
    }
    case Way::kFraction: {
      const Sum f = fraction<true>(a, x, precision);
      return (std::log(x) - digamma(a)) * f.value + f.slope;
    }
    default: {
      const Sum s = series<true>(a, x, precision);
      return ((digamma(a + 1) - std::log(x)) * s.value - s.slope) / a;
    }
  }
}

// Both are positive and finite.
inline bool are_regular(double a, double x) {
  return a > 0 && x > 0 && a < kInfinity && x < kInfinity;
}

// a ≥ 0, x ≥ 0, and not both 0 or both ∞; false for NaN.
inline bool are_defined(double a, double x) {
  return a >= 0 && x >= 0 && (a > 0 || x > 0) && (a < kInfinity || x < kInfinity);
}

struct Lower {
  static double of(double a, double x, double precision) {
    if (are_regular(a, x)) return value<false>(a, x, precision);
    return !are_defined(a, x) ? kNan : x == 0 || a == kInfinity ? 0 : 1;
  }
};

struct Upper {
  static double of(double a, double x, double precision) {
    if (are_regular(a, x)) return value<true>(a, x, precision);
    return !are_defined(a, x) ? kNan : x == 0 || a == kInfinity ? 1 : 0;
  }
};

struct SlopeOfLower {
  static double of(double a, double x, double precision) {
    // In this order nothing leaves the range for a tiny a.
    if (are_regular(a, x))
      return -leading_factor(a, x, precision) * (a * slope_of_log_sample(a, x, precision));
    return are_defined(a, x) && a > 0 ? 0 : kNan;
  }
};

struct SlopeOfSample {
  static double of(double a, double x, double precision) {
    if (are_regular(a, x)) return x * slope_of_log_sample(a, x, precision);
    return x == 0 && a > 0 && a < kInfinity ? 0 : kNan;
  }
};

template <typename F, typename T>
void compute(const T* a, const T* x, T* out, std::int64_t first, std::int64_t last) {
  // Four bits more than the result has; the rest is rounded off.
  const double precision = std::numeric_limits<T>::epsilon() / 16.;
  for (std::int64_t i = first; i < last; ++i) {
    out[i] = static_cast<T>(F::of(a[i], x[i], precision));
  }
}

template <typename T>
using Elements = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Results = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename F, typename T>
void compute_arrays(Elements<T> a, Elements<T> x, Results<T> out) {
  if (a.size() != out.size() || x.size() != out.size()) {
    throw nb::value_error("incomplete_gamma: arrays of different sizes");
  }
  const nb::gil_scoped_release others_run;
  compute<F, T>(a.data(), x.data(), out.data(), 0, static_cast<std::int64_t>(out.size()));
}

template <typename F>
void bind_function(nb::module_& module, const char* name) {
  module.def(name, &compute_arrays<F, float>, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert());
  module.def(name, &compute_arrays<F, double>, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert());
}

template <typename F, typename T>
void divide(ffi::ThreadPool& pool, const ffi::AnyBuffer& a, const ffi::AnyBuffer& x,
            ffi::Result<ffi::AnyBuffer>& out) {
  const auto count = static_cast<std::int64_t>(out->element_count());
  const std::int64_t most = std::clamp<std::int64_t>(count / kWorthDividing, 1, pool.num_threads());
  parts::divided(pool, most, [&](std::int64_t part) {
    compute<F, T>(static_cast<const T*>(a.untyped_data()), static_cast<const T*>(x.untyped_data()),
                  static_cast<T*>(out->untyped_data()), count * part / most,
                  count * (part + 1) / most);
  });
}

template <typename F>
ffi::Error run(ffi::ThreadPool& pool, const ffi::AnyBuffer& a, const ffi::AnyBuffer& x,
               ffi::Result<ffi::AnyBuffer>& out) {
  if (out->element_type() == ffi::F32) {
    divide<F, float>(pool, a, x, out);
  } else {
    divide<F, double>(pool, a, x, out);
  }
  return ffi::Error::Success();
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::AnyBuffer a, ffi::AnyBuffer x,
                         ffi::Result<ffi::AnyBuffer> out, std::int64_t which) {
  const auto type = out->element_type();
  const bool is_known = type == ffi::F32 || type == ffi::F64;
  if (!is_known || a.element_type() != type || x.element_type() != type ||
      a.element_count() != out->element_count() || x.element_count() != out->element_count()) {
    return ffi::Error::InvalidArgument("an incomplete gamma function of other sizes or dtypes");
  }
  switch (which) {
    case 0:
      return run<Lower>(pool, a, x, out);
    case 1:
      return run<Upper>(pool, a, x, out);
    case 2:
      return run<SlopeOfLower>(pool, a, x, out);
    case 3:
      return run<SlopeOfSample>(pool, a, x, out);
    default:
      return ffi::Error::InvalidArgument("an incomplete gamma function that is not known");
  }
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::int64_t>("which"));

}  // namespace

void lower(std::size_t count, const void* a, const void* x, const void*, void* out) {
  compute<Lower>(static_cast<const float*>(a), static_cast<const float*>(x),
                 static_cast<float*>(out), 0, static_cast<std::int64_t>(count));
}

void upper(std::size_t count, const void* a, const void* x, const void*, void* out) {
  compute<Upper>(static_cast<const float*>(a), static_cast<const float*>(x),
                 static_cast<float*>(out), 0, static_cast<std::int64_t>(count));
}

void bind(nb::module_& module) {
  bind_function<Lower>(module, "igamma");
  bind_function<Upper>(module, "igammac");
  bind_function<SlopeOfLower>(module, "igamma_grad_a");
  bind_function<SlopeOfSample>(module, "random_gamma_grad");
  bind_handler(module, handler, "XLA's way to the functions, as a capsule.");
}

}  // namespace morphax::incomplete_gamma
