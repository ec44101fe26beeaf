// Numbers drawn by rejection, for arrays of parameters: called eagerly and by compiled programs, so
// that both have the same bits.  See `morphax/random/_loop_draws.py`.
//
// Parameters and numbers are rows, a row for each key.
#include "draws.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>

#include "counts.h"
#include "gamma.h"
#include "parts.h"
#include "process_end.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace morphax::draws {

namespace nb = nanobind;
namespace ffi = xla::ffi;
using f32 = float;

namespace {

// From here on other threads may run meanwhile, or take parts.
constexpr std::size_t kMany = 1 << 8;
constexpr std::size_t kWorthDividing = 1 << 12;

// What is drawn, by the numbers that programs have for it.
enum class Method : std::int64_t { gamma, loggamma, poisson, binomial };

struct Rows {
  const std::uint64_t* keys;
  const f32* first;
  const f32* second;  // of methods with two parameters
  f32* out;
  std::size_t rows, columns;

  std::size_t size() const { return rows * columns; }
};

// Draws the numbers from one position to another, positions being counted row by row.
void draw_gamma(const Rows& all, std::size_t from, std::size_t to, bool log_space) {
  while (from < to) {
    const std::size_t row = from / all.columns, column = from % all.columns;
    const std::size_t count = std::min(to - from, all.columns - column);
    gamma::draw(all.keys[row], column, count, all.first + from, all.out + from, log_space);
    from += count;
  }
}

void draw_row(const Rows& all, std::size_t row, Method method) {
  const std::size_t at = row * all.columns;
  if (method == Method::poisson) {
    counts::draw_poisson(all.keys[row], all.columns, all.first + at, all.out + at);
  } else {
    counts::draw_binomial(all.keys[row], all.columns, all.first + at, all.second + at,
                          all.out + at);
  }
}

// Subnormal numbers count as 0 while it lives, as in XLA's programs: eager calls are to have their
// bits.
class SubnormalsAreZero {
 public:
#if defined(__SSE__)
  SubnormalsAreZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlush); }
  ~SubnormalsAreZero() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlush = 0x8040;  // results, and operands
  unsigned before_;
#else
  SubnormalsAreZero() = default;
#endif
};

// Part `part` of `parts`: gamma numbers are drawn each by itself, counts row by row.
void draw_part(const Rows& all, Method method, std::size_t part, std::size_t parts) {
  const SubnormalsAreZero as_in_programs;
  if (method == Method::gamma || method == Method::loggamma) {
    const std::size_t from = all.size() * part / parts, to = all.size() * (part + 1) / parts;
    return draw_gamma(all, from, to, method == Method::loggamma);
  }
  const std::size_t last = all.rows * (part + 1) / parts;
  for (std::size_t row = all.rows * part / parts; row < last; ++row) draw_row(all, row, method);
}

using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Parameters = nb::ndarray<const f32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<f32, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool is_like(const Parameters& parameters, const Numbers& out) {
  return parameters.shape(0) == out.shape(0) && parameters.shape(1) == out.shape(1);
}

void fill(const Keys& keys, const Parameters& first, const Parameters& second, const Numbers& out,
          Method method) {
  if (out.size() == 0) return;
  if (keys.shape(0) != out.shape(0) || !is_like(first, out) || !is_like(second, out)) {
    throw nb::value_error("draws: arrays of different sizes");
  }
  const Rows all{keys.data(), first.data(), second.data(), out.data(), out.shape(0), out.shape(1)};
  if (all.size() < kMany) return draw_part(all, method, 0, 1);
  const process_end::OthersRun others_run;
  draw_part(all, method, 0, 1);
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::Buffer<ffi::U64> keys,
                         ffi::RemainingArgs parameters, ffi::Result<ffi::Buffer<ffi::F32>> out,
                         std::int64_t which) {
  const auto method = static_cast<Method>(which);
  const std::size_t wanted = method == Method::binomial ? 2 : 1;
  const std::size_t rows = keys.element_count(), size = out->element_count();
  bool is_right = which >= 0 && method <= Method::binomial && parameters.size() == wanted;
  is_right = is_right && rows > 0 && size % rows == 0;
  const f32* numbers[2] = {nullptr, nullptr};
  for (std::size_t i = 0; is_right && i < wanted; ++i) {
    const auto given = parameters.get<ffi::Buffer<ffi::F32>>(i);
    is_right = given.has_value() && given->element_count() == size;
    if (is_right) numbers[i] = given->typed_data();
  }
  if (!is_right) return ffi::Error::InvalidArgument("random numbers of other sizes or dtypes");
  const Rows all{keys.typed_data(), numbers[0], numbers[1], out->typed_data(), rows, size / rows};
  const auto parts = static_cast<std::size_t>(std::clamp<std::int64_t>(
      static_cast<std::int64_t>(size / kWorthDividing), 1, pool.num_threads()));
  parts::divided(pool, static_cast<std::int64_t>(parts), [&](std::int64_t part) {
    draw_part(all, method, static_cast<std::size_t>(part), parts);
  });
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::Buffer<ffi::U64>>()
                           .RemainingArgs()
                           .Ret<ffi::Buffer<ffi::F32>>()
                           .Attr<std::int64_t>("which"));

}  // namespace

void bind(nb::module_& module) {
  const auto whole = nb::arg().noconvert();
  module.def(
      "draw_gamma",
      [](const Keys& keys, const Parameters& a, const Numbers& out, bool log_space) {
        fill(keys, a, a, out, log_space ? Method::loggamma : Method::gamma);
      },
      nb::arg(), nb::arg(), whole, nb::arg());
  module.def(
      "draw_poisson",
      [](const Keys& keys, const Parameters& rates, const Numbers& out) {
        fill(keys, rates, rates, out, Method::poisson);
      },
      nb::arg(), nb::arg(), whole);
  module.def(
      "draw_binomial",
      [](const Keys& keys, const Parameters& n, const Parameters& p, const Numbers& out) {
        fill(keys, n, p, out, Method::binomial);
      },
      nb::arg(), nb::arg(), nb::arg(), whole);
  bind_handler(module, handler, "XLA's way to the numbers, as a capsule.");
}

}  // namespace morphax::draws
