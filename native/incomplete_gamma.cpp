// Loops over elements of the incomplete gamma functions, for arrays and for XLA's programs.
//
// All is computed in double precision and rounded once.
#include "incomplete_gamma.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "incomplete_gamma_formulas.h"
#include "incomplete_gamma_near_zero.h"
#include "incomplete_gamma_ratios.h"
#include "kernels.h"
#include "parts.h"
#include "process_end.h"
#include "wide_elementary.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace morphax::incomplete_gamma {

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace {

constexpr std::int64_t kWorthDividing = 1 << 12;  // elements

// Parameters that elements had, one at each place: often there are few, and one is the next again.
class ParametersMet {
 public:
  Parameter& place_of(double a) {
    std::uint64_t bits;
    std::memcpy(&bits, &a, sizeof bits);
    return places_[(bits * 0x9e3779b97f4a7c15) >> (64 - kBits)];
  }

 private:
  static constexpr int kBits = 5;
  Parameter places_[1 << kBits];
};

// Elements near zero, which are computed when there are as many as are computed together.
class Collected {
 public:
  explicit Collected(void (NearZero::*function)()) : function_(function) {}

  void take(float a, float x, float* out) {
    block_.a[count_] = a, block_.x[count_] = x, places_[count_] = out;
    if (++count_ == NearZero::kCount) compute();
  }

  void compute() {
    if (count_ == 0) return;
    std::fill(block_.a + count_, block_.a + NearZero::kCount, 1);
    std::fill(block_.x + count_, block_.x + NearZero::kCount, 1);
    (block_.*function_)();
    for (int i = 0; i < count_; ++i) *places_[i] = static_cast<float>(block_.result[i] + 0.0);
    count_ = 0;
  }

 private:
  void (NearZero::*function_)();
  NearZero block_;
  float* places_[NearZero::kCount];
  int count_ = 0;
};

// How elements near zero are computed together; null if a function has no such way.
template <typename F, typename T>
constexpr void (NearZero::* together())() {
  if (!std::is_same_v<T, float>) return nullptr;
  if (std::is_same_v<F, Lower>) return &NearZero::compute_lower;
  if (std::is_same_v<F, Upper>) return &NearZero::compute_upper;
  if (std::is_same_v<F, LogOfLower>) return &NearZero::compute_log_of_lower;
  if (std::is_same_v<F, LogOfUpper>) return &NearZero::compute_log_of_upper;
  if (std::is_same_v<F, SlopeOfLower>) return &NearZero::compute_slope_of_lower;
  if (std::is_same_v<F, SlopeOfSample>) return &NearZero::compute_slope_of_sample;
  return nullptr;
}

template <typename F, typename T>
void compute_each(const T* a, const T* x, T* out, std::int64_t first, std::int64_t last) {
  // Four bits more than the result has; the rest is rounded off.
  const double precision = std::numeric_limits<T>::epsilon() / 16.;
  ParametersMet parameters;
  constexpr auto function = together<F, T>();
  Collected near(function);
  for (std::int64_t i = first; i < last; ++i) {
    const double of_a = a[i], of_x = x[i];
    if (!are_regular(of_a, of_x)) {
      out[i] = static_cast<T>(F::limit(of_a, of_x));
      continue;
    }
    if constexpr (function != nullptr) {
      if (NearZero::has(of_a, of_x)) {
        near.take(a[i], x[i], out + i);
        continue;
      }
    }
    Parameter& parameter = parameters.place_of(of_a);
    if (of_a != parameter.a) parameter.set(of_a, precision, F::kIsSloped);
    out[i] = static_cast<T>(F::of(parameter, of_x));
  }
  near.compute();
}

// exp((a−1) log x − x + offset), where the digits of the sum are those of single precision.
MORPHAX_VECTORIZED
void densities(const float* x, double a, double offset, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double z = x[i];
    out[i] = static_cast<float>(wide::exponential((a - 1) * wide::logarithm(z) - z + offset));
  }
}

MORPHAX_VECTORIZED
bool are_all(const float* a, float first, std::int64_t count) {
  std::int32_t others = 0;
  for (std::int64_t i = 0; i < count; ++i) others |= a[i] != first;
  return others == 0;
}

// Whether all are positive and finite.
MORPHAX_VECTORIZED
bool are_all_regular(const float* x, std::int64_t count) {
  std::int32_t others = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    others |= static_cast<std::int32_t>(!(x[i] > 0)) |
              static_cast<std::int32_t>(!(x[i] <= std::numeric_limits<float>::max()));
  }
  return others == 0;
}

// Densities of numbers of one parameter, which is no larger than where the digits end; false if
// they are not.
bool are_densities_of_one(const float* a, const float* x, float* out, std::int64_t count) {
  constexpr double kMost = 100, kPrecision = std::numeric_limits<float>::epsilon() / 16.;
  const double of_a = a[0];
  if (!(of_a > 0 && of_a <= kMost) || !are_all(a, a[0], count)) return false;
  Parameter parameter;
  parameter.set(of_a, kPrecision, false);
  densities(x, of_a, std::log(of_a) + parameter.log_of_constant(), out, count);
  if (are_all_regular(x, count)) return true;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!are_regular(of_a, x[i])) out[i] = static_cast<float>(Density::limit(of_a, x[i]));
  }
  return true;
}

template <typename F, typename T>
void compute(const T* a, const T* x, T* out, std::int64_t first, std::int64_t last) {
  if constexpr (std::is_same_v<F, Density> && std::is_same_v<T, float>) {
    constexpr std::int64_t kWorthALoop = 16;
    const bool is_worth_it = last - first >= kWorthALoop;
    if (is_worth_it && are_densities_of_one(a + first, x + first, out + first, last - first))
      return;
  }
  compute_each<F>(a, x, out, first, last);
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
  const process_end::OthersRun others_run;
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
    case 4:
      return run<LogOfLower>(pool, a, x, out);
    case 5:
      return run<LogOfUpper>(pool, a, x, out);
    case 6:
      return run<Density>(pool, a, x, out);
    case 7:
      return run<OverLower>(pool, a, x, out);
    case 8:
      return run<OverUpper>(pool, a, x, out);
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
  bind_function<LogOfLower>(module, "log_igamma");
  bind_function<LogOfUpper>(module, "log_igammac");
  bind_function<Density>(module, "gamma_density");
  bind_function<OverLower>(module, "gamma_density_over_igamma");
  bind_function<OverUpper>(module, "gamma_density_over_igammac");
  bind_handler(module, handler, "XLA's way to the functions, as a capsule.");
}

}  // namespace morphax::incomplete_gamma
