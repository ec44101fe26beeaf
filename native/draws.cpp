// Numbers drawn by rejection, for arrays of parameters: called eagerly and by compiled programs, so
// that both have the same bits.  See `morphax/random/_loop_draws.py`.
//
// Parameters and numbers are rows, a row for each key.
#include "draws.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "counts.h"
#include "draw_keys.h"
#include "gamma.h"
#include "half_numbers.h"
#include "parts.h"
#include "process_end.h"
#include "subnormal_numbers.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace morphax::draws {

namespace nb = nanobind;
namespace ffi = xla::ffi;
using f32 = float;
using f64 = double;
using f16 = half_numbers::Stored<half_numbers::Float16>;
using bf16 = half_numbers::Stored<half_numbers::Bfloat16>;

namespace {

// From here on other threads may run meanwhile, or take parts.
constexpr std::size_t kMany = 1 << 8;
constexpr std::size_t kWorthDividing = 1 << 12;

// What is drawn, by the numbers that programs have for it.
enum class Method : std::int64_t { gamma, loggamma, poisson, binomial };

// Counts are drawn in those that C++ has.
template <typename T>
constexpr bool kIsWide = std::is_floating_point_v<T>;

template <typename T>
struct Rows {
  const std::uint64_t* keys;  // of so many words each
  Generator generator;
  const T* first;
  const T* second;  // of methods with two parameters
  T* out;
  std::size_t rows, columns;

  std::size_t size() const { return rows * columns; }
};

// How many words of 64 bits a key has; none if there is no such generator.
std::size_t words_of(Generator generator) {
  switch (generator) {
    case Generator::threefry:
      return ThreefryKey::kWide;
    case Generator::rbg:
      return RbgKey::kWide;
    case Generator::unsafe_rbg:
      return UnsafeRbgKey::kWide;
  }
  return 0;
}

// Draws the numbers from one position to another, positions being counted row by row.
template <typename Key, typename T>
void draw_gamma(const Rows<T>& all, std::size_t from, std::size_t to, bool log_space) {
  while (from < to) {
    const std::size_t row = from / all.columns, column = from % all.columns;
    const std::size_t count = std::min(to - from, all.columns - column);
    Key key;
    std::memcpy(key.words.data(), all.keys + row * Key::kWide, sizeof(key.words));
    gamma::draw(key, column, count, all.first + from, all.out + from, log_space);
    from += count;
  }
}

template <typename T>
void draw_gamma(const Rows<T>& all, std::size_t from, std::size_t to, bool log_space) {
  switch (all.generator) {
    case Generator::threefry:
      return draw_gamma<ThreefryKey>(all, from, to, log_space);
    case Generator::rbg:
      return draw_gamma<RbgKey>(all, from, to, log_space);
    case Generator::unsafe_rbg:
      return draw_gamma<UnsafeRbgKey>(all, from, to, log_space);
  }
}

template <typename T>
void draw_row(const Rows<T>& all, std::size_t row, Method method) {
  const std::size_t at = row * all.columns;
  if constexpr (kIsWide<T>) {
    if (method == Method::binomial) {
      return counts::draw_binomial(all.keys[row], all.columns, all.first + at, all.second + at,
                                   all.out + at);
    }
  }
  if constexpr (std::is_same_v<T, f32>) {
    counts::draw_poisson(all.keys[row], all.columns, all.first + at, all.out + at);
  }
}

// Part `part` of `parts`: gamma numbers are drawn each by itself, counts row by row.
template <typename T>
void draw_part(const Rows<T>& all, Method method, std::size_t part, std::size_t parts) {
  // Eager calls are to have the bits of XLA's programs.
  const SubnormalNumbers as_in_programs(Subnormals::are_zero);
  if (method == Method::gamma || method == Method::loggamma) {
    const std::size_t from = all.size() * part / parts, to = all.size() * (part + 1) / parts;
    return draw_gamma(all, from, to, method == Method::loggamma);
  }
  const std::size_t last = all.rows * (part + 1) / parts;
  for (std::size_t row = all.rows * part / parts; row < last; ++row) draw_row(all, row, method);
}

using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Parameters = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Numbers = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
bool is_like(const Parameters<T>& parameters, const Numbers<T>& out) {
  return parameters.shape(0) == out.shape(0) && parameters.shape(1) == out.shape(1);
}

// `Word` is what arrays of numbers of type T are given as.
template <typename T, typename Word>
void fill(const Keys& keys, const Parameters<Word>& first, const Parameters<Word>& second,
          const Numbers<Word>& out, Method method, std::int64_t generator_number = 0) {
  static_assert(sizeof(T) == sizeof(Word), "only the reading of the bits changes");
  const auto generator = static_cast<Generator>(generator_number);
  if (out.size() == 0) return;
  if (keys.shape(0) != out.shape(0) * words_of(generator) || !is_like(first, out) ||
      !is_like(second, out)) {
    throw nb::value_error("draws: arrays of different sizes");
  }
  const Rows<T> all{keys.data(),
                    generator,
                    reinterpret_cast<const T*>(first.data()),
                    reinterpret_cast<const T*>(second.data()),
                    reinterpret_cast<T*>(out.data()),
                    out.shape(0),
                    out.shape(1)};
  if (all.size() < kMany) return draw_part(all, method, 0, 1);
  const process_end::OthersRun others_run;
  draw_part(all, method, 0, 1);
}

bool is_gamma(std::int64_t which) {
  return which == static_cast<std::int64_t>(Method::gamma) ||
         which == static_cast<std::int64_t>(Method::loggamma);
}

// How many parameters a method takes in a precision; none where it is not drawn in it.
template <typename T>
std::size_t parameters_of(std::int64_t which) {
  const auto method = static_cast<Method>(which);
  if (which < 0 || method > Method::binomial) return 0;
  if (method == Method::poisson && !std::is_same_v<T, f32>) return 0;
  if (!is_gamma(which) && !kIsWide<T>) return 0;
  return method == Method::binomial ? 2 : 1;
}

template <typename T, ffi::DataType type>
ffi::Error run(ffi::ThreadPool& pool, const ffi::AnyBuffer& keys,
               const ffi::RemainingArgs& parameters, ffi::AnyBuffer& out, std::int64_t which,
               std::int64_t generator_number) {
  const auto generator = static_cast<Generator>(generator_number);
  const std::size_t bytes = words_of(generator) * sizeof(std::uint64_t);
  const std::size_t rows = bytes ? keys.size_bytes() / bytes : 0, size = out.element_count();
  const std::size_t wanted = parameters_of<T>(which);
  bool is_right = wanted > 0 && parameters.size() == wanted && rows > 0 && size % rows == 0;
  is_right = is_right && (generator == Generator::threefry || is_gamma(which));
  const T* numbers[2] = {nullptr, nullptr};
  for (std::size_t i = 0; is_right && i < wanted; ++i) {
    const auto given = parameters.get<ffi::Buffer<type>>(i);
    is_right = given.has_value() && given->element_count() == size;
    if (is_right) numbers[i] = static_cast<const T*>(given->untyped_data());
  }
  if (!is_right) return ffi::Error::InvalidArgument("random numbers of other sizes or dtypes");
  const Rows<T> all{static_cast<const std::uint64_t*>(keys.untyped_data()),
                    generator,
                    numbers[0],
                    numbers[1],
                    static_cast<T*>(out.untyped_data()),
                    rows,
                    size / rows};
  const auto parts = static_cast<std::size_t>(std::clamp<std::int64_t>(
      static_cast<std::int64_t>(size / kWorthDividing), 1, pool.num_threads()));
  parts::divided(pool, static_cast<std::int64_t>(parts), [&](std::int64_t part) {
    draw_part(all, static_cast<Method>(which), static_cast<std::size_t>(part), parts);
  });
  return ffi::Error::Success();
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::AnyBuffer keys, ffi::RemainingArgs parameters,
                         ffi::Result<ffi::AnyBuffer> out, std::int64_t which,
                         std::int64_t generator) {
  switch (out->element_type()) {
    case ffi::F32:
      return run<f32, ffi::F32>(pool, keys, parameters, *out, which, generator);
    case ffi::F64:
      return run<f64, ffi::F64>(pool, keys, parameters, *out, which, generator);
    case ffi::F16:
      return run<f16, ffi::F16>(pool, keys, parameters, *out, which, generator);
    case ffi::BF16:
      return run<bf16, ffi::BF16>(pool, keys, parameters, *out, which, generator);
    default:
      return ffi::Error::InvalidArgument("random numbers of another dtype");
  }
}

template <typename T>
void draw_all(void* const* memory, Method method, std::size_t rows, std::size_t columns) {
  const auto number = [&](int i) { return static_cast<const T*>(memory[i]); };
  const bool is_pair = method == Method::binomial;
  const Rows<T> all{static_cast<const std::uint64_t*>(memory[0]),
                    Generator::threefry,
                    number(1),
                    is_pair ? number(2) : nullptr,
                    static_cast<T*>(memory[is_pair ? 3 : 2]),
                    rows,
                    columns};
  draw_part(all, method, 0, 1);
}

// As machine code of the native engine calls it, which no exception may pass: `memory` points to
// keys, parameters and numbers of so many bytes each.
void draw_for_code(void* const* memory, std::int64_t which, std::int64_t bytes, std::int64_t rows,
                   std::int64_t columns) noexcept {
  const auto draw = bytes == sizeof(f32) ? draw_all<f32> : draw_all<f64>;
  draw(memory, static_cast<Method>(which), static_cast<std::size_t>(rows),
       static_cast<std::size_t>(columns));
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .RemainingArgs()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::int64_t>("which")
                           .Attr<std::int64_t>("generator"));

template <typename T>
void bind_precision(nb::module_& module) {
  const auto whole = nb::arg().noconvert();  // which decides between the precisions
  module.def(
      "draw_gamma",
      [](const Keys& keys, const Parameters<T>& a, const Numbers<T>& out, bool log_space,
         std::int64_t generator) {
        fill<T>(keys, a, a, out, log_space ? Method::loggamma : Method::gamma, generator);
      },
      nb::arg(), nb::arg(), whole, nb::arg(), nb::arg() = 0);
  module.def(
      "draw_binomial",
      [](const Keys& keys, const Parameters<T>& n, const Parameters<T>& p, const Numbers<T>& out) {
        fill<T>(keys, n, p, out, Method::binomial);
      },
      nb::arg(), nb::arg(), nb::arg(), whole);
}

// Of narrow numbers, which are given as words, as not every format has a name for Python's buffers.
template <typename T>
void bind_narrow(nb::module_& module, const char* name) {
  module.def(
      name,
      [](const Keys& keys, const Parameters<std::uint16_t>& a, const Numbers<std::uint16_t>& out,
         bool log_space, std::int64_t generator) {
        fill<T>(keys, a, a, out, log_space ? Method::loggamma : Method::gamma, generator);
      },
      nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg() = 0);
}

}  // namespace

void bind(nb::module_& module) {
  bind_precision<f32>(module);
  bind_precision<f64>(module);
  bind_narrow<f16>(module, "draw_gamma_of_float16");
  bind_narrow<bf16>(module, "draw_gamma_of_bfloat16");
  module.def(
      "draw_poisson",
      [](const Keys& keys, const Parameters<f32>& rates, const Numbers<f32>& out) {
        fill<f32>(keys, rates, rates, out, Method::poisson);
      },
      nb::arg(), nb::arg(), nb::arg().noconvert());
  module.attr("draw_for_code") = reinterpret_cast<std::uintptr_t>(&draw_for_code);
  bind_handler(module, handler, "XLA's way to the numbers, as a capsule.");
}

}  // namespace morphax::draws
