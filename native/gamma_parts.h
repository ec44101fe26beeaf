// What the incomplete gamma functions are made of: the compiled form of
// `morphax/lax/elementwise/gamma_parts.py`.
#pragma once

#include <cmath>
#include <iterator>
#include <limits>

namespace morphax::incomplete_gamma {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kStartOfStirling = 10;

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

// The coefficients of ηⁿ in Cₖ(η), a row for each k.
constexpr int kTerms = 11, kMostPowers = 16;
constexpr double kTemme[kTerms][kMostPowers] = {
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
inline double log_gamma_of_next(double a, double precision) {
  double product = 1;
  for (; a > 1; a -= 1) product *= a;
  const double u = 2 * a - 1;
  double current = 0, previous = 0;
  // The first coefficients are of more than single precision.
  constexpr int kAll = static_cast<int>(std::size(kLogGammaNearOne)), kOfSingle = 14;
  for (int i = (precision > 1e-9 ? kOfSingle : kAll) - 1; i > 0; --i) {
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
  return log_gamma_of_next(a, 0) + a - (a + 0.5) * std::log(a) - 0.5 * std::log(2 * kPi);
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

}  // namespace morphax::incomplete_gamma
