// Maxima and minima of floats along axes, called from compiled programs on the CPU.
//
// NaN wins, 0 is larger than -0, and numbers next to zero count: XLA's kernel library keeps none of
// these rules, and its own loops over the elements of an axis are slow.  Floats are compared as
// integers in their order.
//
// The operand has three axes, (outer, reduced, inner), of which the middle one goes.  Large
// operands are divided into parts, which XLA's threads work on.
#include "extremes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "float_order.h"
#include "kernels.h"
#include "parts.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace morphax::extremes {

using float_order::bits_of;
using float_order::key_of;
using parts::divided;

namespace {

constexpr std::int64_t kWorthDividing = 1 << 20;  // elements; threads take long to wake
constexpr std::int64_t kWidest = 2048;  // of inner elements at a time, which stay in cache
constexpr std::int64_t kNarrow = 64;    // to fewer inner elements, rows are put together

struct Sizes {
  std::int64_t outer, reduced, inner;
};

// Functions one by one: compilers make several versions of plain functions only.
#define MORPHAX_EXTREMES(I, kInfinity, kNan, name)                                               \
  MORPHAX_VECTORIZED_INTEGERS                                                                    \
  void wholes_##name(const I* x, std::int64_t rows, std::int64_t count, I flip, I* out) {        \
    for (std::int64_t r = 0; r < rows; ++r) {                                                    \
      const I* row = x + r * count;                                                              \
      I most = std::numeric_limits<I>::min();                                                    \
      for (std::int64_t i = 0; i < count; ++i) {                                                 \
        const I key = key_of<I, kInfinity>(row[i], flip);                                        \
        most = key > most ? key : most;                                                          \
      }                                                                                          \
      out[r] = most;                                                                             \
    }                                                                                            \
  }                                                                                              \
  MORPHAX_VECTORIZED_INTEGERS                                                                    \
  void rows_##name(const I* x, std::int64_t rows, std::int64_t step, std::int64_t width, I flip, \
                   I* most) {                                                                    \
    std::int64_t r = 0;                                                                          \
    for (; r + 4 <= rows; r += 4) {                                                              \
      const I *x0 = x + r * step, *x1 = x0 + step, *x2 = x1 + step, *x3 = x2 + step;             \
      for (std::int64_t i = 0; i < width; ++i) {                                                 \
        const I k0 = key_of<I, kInfinity>(x0[i], flip), k1 = key_of<I, kInfinity>(x1[i], flip);  \
        const I k2 = key_of<I, kInfinity>(x2[i], flip), k3 = key_of<I, kInfinity>(x3[i], flip);  \
        const I first = k0 > k1 ? k0 : k1, second = k2 > k3 ? k2 : k3;                           \
        const I both = first > second ? first : second;                                          \
        most[i] = most[i] > both ? most[i] : both;                                               \
      }                                                                                          \
    }                                                                                            \
    for (; r < rows; ++r) {                                                                      \
      const I* row = x + r * step;                                                               \
      for (std::int64_t i = 0; i < width; ++i) {                                                 \
        const I key = key_of<I, kInfinity>(row[i], flip);                                        \
        most[i] = most[i] > key ? most[i] : key;                                                 \
      }                                                                                          \
    }                                                                                            \
  }                                                                                              \
  MORPHAX_VECTORIZED_INTEGERS                                                                    \
  void finish_##name(I* out, std::int64_t count, I flip) {                                       \
    for (std::int64_t i = 0; i < count; ++i) out[i] = bits_of<I, kInfinity, kNan>(out[i], flip); \
  }

MORPHAX_EXTREMES(std::int16_t, 0x7C00, 0x7E00, f16)
MORPHAX_EXTREMES(std::int16_t, 0x7F80, 0x7FC0, bf16)
MORPHAX_EXTREMES(std::int32_t, 0x7F800000, 0x7FC00000, f32)
MORPHAX_EXTREMES(std::int64_t, 0x7FF0000000000000, 0x7FF8000000000000, f64)

template <typename I>
struct Loops {
  void (*wholes)(const I*, std::int64_t, std::int64_t, I, I*);  // rows that lie together
  void (*rows)(const I*, std::int64_t, std::int64_t, std::int64_t, I, I*);
  void (*finish)(I*, std::int64_t, I);  // bits of keys
};

// What is left of `reduced` rows of `inner` elements, as keys.
template <typename I>
void reduce(const Loops<I>& loops, const I* x, std::int64_t reduced, std::int64_t inner,
            std::int64_t step, I flip, I* out) {
  if (inner == 1 && step == 1) {
    loops.wholes(x, 1, reduced, flip, out);
    return;
  }
  std::fill(out, out + inner, std::numeric_limits<I>::min());
  if (inner >= kNarrow || step != inner) {
    for (std::int64_t first = 0; first < inner; first += kWidest) {
      const std::int64_t width = std::min(kWidest, inner - first);
      loops.rows(x + first, reduced, step, width, flip, out + first);
    }
    return;
  }
  // Several rows as one long one, so that the loop over its elements pays.
  I wide[2 * kNarrow];
  const std::int64_t together = 2 * kNarrow / inner;
  const std::int64_t width = together * inner;
  std::fill(wide, wide + width, std::numeric_limits<I>::min());
  loops.rows(x, reduced / together, width, width, flip, wide);
  for (std::int64_t i = 0; i < width; ++i) out[i % inner] = std::max(out[i % inner], wide[i]);
  const std::int64_t done = reduced / together * together;
  loops.rows(x + done * inner, reduced - done, inner, inner, flip, out);
}

template <typename I>
void run(const Loops<I>& loops, ffi::ThreadPool& pool, const Sizes& n, I flip, const I* x, I* out) {
  const std::int64_t all = n.outer * n.reduced * n.inner;
  const std::int64_t most = std::min(all / kWorthDividing, pool.num_threads());
  const std::int64_t block = n.reduced * n.inner;
  const auto several = [&](std::int64_t first, std::int64_t last) {
    if (n.inner == 1) {
      loops.wholes(x + first * block, last - first, n.reduced, flip, out + first);
      return;
    }
    for (std::int64_t o = first; o < last; ++o) {
      reduce(loops, x + o * block, n.reduced, n.inner, n.inner, flip, out + o * n.inner);
    }
  };
  if (most < 2) {
    several(0, n.outer);
  } else if (n.outer >= most) {
    divided(pool, most, [&](std::int64_t part) {
      several(n.outer * part / most, n.outer * (part + 1) / most);
    });
  } else {
    // Each part takes some rows of each block, and the results of the parts are combined.
    std::vector<I> found(static_cast<std::size_t>(most * n.outer * n.inner));
    divided(pool, most, [&](std::int64_t part) {
      const std::int64_t first = n.reduced * part / most, last = n.reduced * (part + 1) / most;
      for (std::int64_t o = 0; o < n.outer; ++o) {
        reduce(loops, x + o * block + first * n.inner, last - first, n.inner, n.inner, flip,
               found.data() + (part * n.outer + o) * n.inner);
      }
    });
    const std::int64_t results = n.outer * n.inner;
    for (std::int64_t i = 0; i < results; ++i) {
      out[i] = found[i];
      for (std::int64_t part = 1; part < most; ++part) {
        out[i] = std::max(out[i], found[part * results + i]);
      }
    }
  }
  loops.finish(out, n.outer * n.inner, flip);
}

template <typename I>
ffi::Error run_on(const Loops<I>& loops, ffi::ThreadPool& pool, const Sizes& n, bool is_min,
                  const ffi::AnyBuffer& x, ffi::Result<ffi::AnyBuffer>& out) {
  const I flip = is_min ? I(-1) : I(0);
  run(loops, pool, n, flip, static_cast<const I*>(x.untyped_data()),
      static_cast<I*>(out->untyped_data()));
  return ffi::Error::Success();
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> out,
                         std::int64_t outer, std::int64_t reduced, std::int64_t inner,
                         bool is_min) {
  const Sizes n{outer, reduced, inner};
  const auto elements = static_cast<std::int64_t>(x.element_count());
  if (outer * reduced * inner != elements || reduced < 1 ||
      outer * inner != static_cast<std::int64_t>(out->element_count()) ||
      x.element_type() != out->element_type()) {
    return ffi::Error::InvalidArgument("an extreme of arrays of other sizes or dtypes");
  }
  switch (x.element_type()) {
    case ffi::F16:
      return run_on(Loops<std::int16_t>{&wholes_f16, &rows_f16, &finish_f16}, pool, n, is_min, x,
                    out);
    case ffi::BF16:
      return run_on(Loops<std::int16_t>{&wholes_bf16, &rows_bf16, &finish_bf16}, pool, n, is_min, x,
                    out);
    case ffi::F32:
      return run_on(Loops<std::int32_t>{&wholes_f32, &rows_f32, &finish_f32}, pool, n, is_min, x,
                    out);
    case ffi::F64:
      return run_on(Loops<std::int64_t>{&wholes_f64, &rows_f64, &finish_f64}, pool, n, is_min, x,
                    out);
    default:
      return ffi::Error::InvalidArgument("an extreme of another dtype");
  }
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::int64_t>("outer")
                           .Attr<std::int64_t>("reduced")
                           .Attr<std::int64_t>("inner")
                           .Attr<bool>("is_min"));

}  // namespace

void bind(nb::module_& module) {
  bind_handler(module, handler, "XLA's way to the maxima and minima, as a capsule.");
}

}  // namespace morphax::extremes
