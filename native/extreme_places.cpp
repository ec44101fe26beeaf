// Places of the first maximum or minimum along an axis, of compiled programs and eager arrays.
//
// The first NaN wins, 0 equals -0, and numbers next to zero count.  Elements are compared as signed
// integers in their order, of their own width, so that a vector holds as many places as elements.
// A row that lies together is gone through for its extreme, and a block of it for the place.
//
// The operand has three axes, (outer, reduced, inner), of which the middle one goes.  Large ones
// are divided into parts, which XLA's threads work on, or ours.
#include "extreme_places.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "float_order.h"
#include "kernels.h"
#include "objects.h"
#include "parts.h"
#include "process_end.h"
#include "turned_squares.h"
#include "workers.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace ffi = xla::ffi;

namespace morphax::extreme_places {

using float_order::key_of;
using parts::divided;
using turned_squares::kFew;
using turned_squares::turn_any;
using turned_squares::turn_few;

namespace {

constexpr std::int64_t kWorthDividing = 1 << 19;  // elements; threads take long to wake
constexpr std::int64_t kWidest = 1024;  // of inner elements at a time, whose places stay in cache
constexpr std::int64_t kNarrow = 64;    // to fewer inner elements, rows are put together
constexpr std::int64_t kBlock = 4096;   // of a row that lies together
constexpr std::int64_t kSearched = 64;  // elements at a time for the place
constexpr std::int64_t kShort = 32;     // fewer elements of a row fill hardly any vectors
// Rows that are made columns, where they are short.
template <typename I>
constexpr std::int64_t kRows = 512 / sizeof(I);

struct Sizes {
  std::int64_t outer, reduced, inner;
};

// How bits become keys, and of two keys that count as equal the one that stands for both.  `flip`
// is -1 for minima, which are maxima of the inverted order.
template <typename I, I kInfinity>
struct Float {
  using Bits = I;
  static constexpr I kBeyond = std::numeric_limits<I>::max() - kInfinity;
  static inline I key(I bits, I flip) { return key_of<I, kInfinity>(bits, flip); }
  static inline I representative(I key) {
    constexpr I kNan = kInfinity - kBeyond + 1, kUpperZero = -kBeyond;
    const I bounded = key < kNan ? key : kNan;
    return static_cast<I>(bounded - (bounded == kUpperZero ? 1 : 0));
  }
};

template <typename I, I kLowest>
struct Integer {
  using Bits = I;
  // Unsigned numbers are in order once the first bit is inverted.
  static inline I key(I bits, I flip) { return static_cast<I>(bits ^ kLowest ^ flip); }
  static inline I representative(I key) { return key; }
};

using F16 = Float<std::int16_t, 0x7C00>;
using Bf16 = Float<std::int16_t, 0x7F80>;
using F32 = Float<std::int32_t, 0x7F800000>;
using F64 = Float<std::int64_t, 0x7FF0000000000000>;
template <typename I>
using Signed = Integer<I, 0>;
template <typename I>
using Unsigned = Integer<I, std::numeric_limits<I>::min()>;

// Makes columns of `kRows` rows, or of all there are.  Where a row has no whole squares, the last
// begin sooner, or reach into the next row.
template <typename I>
[[gnu::always_inline]] inline void make_columns(const I* x, std::int64_t rows, std::int64_t count,
                                                I* columns) {
  constexpr std::int64_t few = kFew<I>;
  const std::int64_t wide = std::max(count, few), last = std::max<std::int64_t>(count - few, 0);
  std::int64_t r = 0;
  for (; r + few <= kRows<I> && (r + few - 1) * count + wide <= rows * count; r += few) {
    for (std::int64_t c = 0; c < last; c += few)
      turn_few(x + r * count + c, count, columns + c * kRows<I> + r, kRows<I>);
    turn_few(x + r * count + last, count, columns + last * kRows<I> + r, kRows<I>);
  }
  turn_any(x + r * count, count, std::min(kRows<I>, rows) - r, count, columns + r, kRows<I>);
}

// Functions one by one: compilers make several versions of plain functions only.
#define MORPHAX_EXTREME_PLACES(Kind, name)                                                        \
  MORPHAX_VECTORIZED_INTEGERS                                                                     \
  void wholes_##name(const Kind::Bits* x, std::int64_t rows, std::int64_t count, Kind::Bits flip, \
                     std::int32_t* out) {                                                         \
    using I = Kind::Bits;                                                                         \
    for (std::int64_t r = 0; r < rows; ++r) {                                                     \
      const I* row = x + r * count;                                                               \
      I best = std::numeric_limits<I>::min();                                                     \
      std::int64_t place = 0;                                                                     \
      for (std::int64_t first = 0; first < count; first += kBlock) {                              \
        const std::int64_t last = std::min(count, first + kBlock);                                \
        I most = std::numeric_limits<I>::min();                                                   \
        for (std::int64_t i = first; i < last; ++i) {                                             \
          const I key = Kind::key(row[i], flip);                                                  \
          most = key > most ? key : most;                                                         \
        }                                                                                         \
        most = Kind::representative(most);                                                        \
        if (most > best) best = most, place = first;                                              \
      }                                                                                           \
      for (; place + kSearched <= count; place += kSearched) {                                    \
        I found = 0;                                                                              \
        for (std::int64_t i = 0; i < kSearched; ++i) {                                            \
          found |= static_cast<I>(Kind::key(row[place + i], flip) >= best ? 1 : 0);               \
        }                                                                                         \
        if (found != 0) break;                                                                    \
      }                                                                                           \
      while (Kind::key(row[place], flip) < best) ++place;                                         \
      out[r] = static_cast<std::int32_t>(place);                                                  \
    }                                                                                             \
  }                                                                                               \
  MORPHAX_VECTORIZED_INTEGERS                                                                     \
  void columns_##name(const Kind::Bits* x, std::int64_t rows, std::int64_t count,                 \
                      Kind::Bits* columns) {                                                      \
    make_columns(x, rows, count, columns);                                                        \
  }                                                                                               \
  /* Rows from one on after those that `most` and `places` know, as many as a place can tell. */  \
  MORPHAX_VECTORIZED_INTEGERS                                                                     \
  void rows_##name(const Kind::Bits* x, std::int64_t rows, std::int64_t step, std::int64_t width, \
                   Kind::Bits flip, Kind::Bits* most, Kind::Bits* places) {                       \
    using I = Kind::Bits;                                                                         \
    const auto key = [flip](I bits) { return Kind::representative(Kind::key(bits, flip)); };      \
    std::int64_t r = 0;                                                                           \
    for (; r + 4 <= rows; r += 4) {                                                               \
      const I *x0 = x + r * step, *x1 = x0 + step, *x2 = x1 + step, *x3 = x2 + step;              \
      const I place = static_cast<I>(r);                                                          \
      for (std::int64_t i = 0; i < width; ++i) {                                                  \
        const I k0 = key(x0[i]), k1 = key(x1[i]), k2 = key(x2[i]), k3 = key(x3[i]);               \
        const I first = k1 > k0 ? k1 : k0, second = k3 > k2 ? k3 : k2;                            \
        const I in_first = static_cast<I>(k1 > k0 ? 1 : 0);                                       \
        const I in_second = static_cast<I>(k3 > k2 ? 3 : 2);                                      \
        const I both = second > first ? second : first;                                           \
        const I here = static_cast<I>(place + (second > first ? in_second : in_first));           \
        places[i] = both > most[i] ? here : places[i];                                            \
        most[i] = both > most[i] ? both : most[i];                                                \
      }                                                                                           \
    }                                                                                             \
    for (; r < rows; ++r) {                                                                       \
      const I* row = x + r * step;                                                                \
      const I place = static_cast<I>(r);                                                          \
      for (std::int64_t i = 0; i < width; ++i) {                                                  \
        const I k = key(row[i]);                                                                  \
        places[i] = k > most[i] ? place : places[i];                                              \
        most[i] = k > most[i] ? k : most[i];                                                      \
      }                                                                                           \
    }                                                                                             \
  }

MORPHAX_EXTREME_PLACES(F16, f16)
MORPHAX_EXTREME_PLACES(Bf16, bf16)
MORPHAX_EXTREME_PLACES(F32, f32)
MORPHAX_EXTREME_PLACES(F64, f64)
MORPHAX_EXTREME_PLACES(Signed<std::int8_t>, s8)
MORPHAX_EXTREME_PLACES(Signed<std::int16_t>, s16)
MORPHAX_EXTREME_PLACES(Signed<std::int32_t>, s32)
MORPHAX_EXTREME_PLACES(Signed<std::int64_t>, s64)
MORPHAX_EXTREME_PLACES(Unsigned<std::int8_t>, u8)
MORPHAX_EXTREME_PLACES(Unsigned<std::int16_t>, u16)
MORPHAX_EXTREME_PLACES(Unsigned<std::int32_t>, u32)
MORPHAX_EXTREME_PLACES(Unsigned<std::int64_t>, u64)

template <typename I>
struct Loops {
  void (*wholes)(const I*, std::int64_t, std::int64_t, I, std::int32_t*);  // rows that lie together
  void (*columns)(const I*, std::int64_t, std::int64_t, I*);
  void (*rows)(const I*, std::int64_t, std::int64_t, std::int64_t, I, I*, I*);
};

// The places of columns next to each other, of which there are `width` at most `kWidest`.
template <typename I>
void by_columns(const Loops<I>& loops, const I* x, std::int64_t rows, std::int64_t step,
                std::int64_t width, I flip, I* best, std::int64_t* found) {
  constexpr I kLeast = std::numeric_limits<I>::min();
  constexpr std::int64_t kMost = std::numeric_limits<I>::max() / 4 * 4;
  I most[kWidest], places[kWidest];
  std::fill(best, best + width, kLeast);
  std::fill(found, found + width, 0);
  for (std::int64_t first = 0; first < rows; first += kMost) {
    std::fill(most, most + width, kLeast);
    std::fill(places, places + width, I(0));
    loops.rows(x + first * step, std::min(kMost, rows - first), step, width, flip, most, places);
    for (std::int64_t i = 0; i < width; ++i) {
      if (most[i] > best[i]) best[i] = most[i], found[i] = first + places[i];
    }
  }
}

// Some columns of (reduced, inner): several rows are one long one where there are few columns.
template <typename I>
void reduce(const Loops<I>& loops, const I* x, std::int64_t reduced, std::int64_t inner, I flip,
            std::int64_t first, std::int64_t last, std::int32_t* out) {
  I best[kWidest];
  std::int64_t found[kWidest];
  if (inner >= kNarrow) {
    for (; first < last; first += kWidest) {
      const std::int64_t width = std::min(kWidest, last - first);
      by_columns(loops, x + first, reduced, inner, width, flip, best, found);
      for (std::int64_t i = 0; i < width; ++i) out[first + i] = static_cast<std::int32_t>(found[i]);
    }
    return;
  }
  const std::int64_t together = 2 * kNarrow / inner, width = together * inner;
  const std::int64_t groups = reduced / together, done = groups * together;
  by_columns(loops, x, groups, width, width, flip, best, found);
  for (std::int64_t i = 0; i < inner; ++i) {
    I most = best[i];
    std::int64_t place = found[i] * together;
    for (std::int64_t row = 1; row < together; ++row) {
      const I other = best[row * inner + i];
      const std::int64_t there = found[row * inner + i] * together + row;
      if (other > most || (other == most && there < place)) most = other, place = there;
    }
    best[i] = most;
    out[i] = static_cast<std::int32_t>(place);
  }
  I rest[kNarrow];
  std::int64_t in_rest[kNarrow];
  by_columns(loops, x + done * inner, reduced - done, inner, inner, flip, rest, in_rest);
  for (std::int64_t i = 0; i < inner; ++i) {
    if (rest[i] > best[i]) out[i] = static_cast<std::int32_t>(done + in_rest[i]);
  }
}

// Rows that lie together and are short, several of which become columns.
template <typename I>
void short_rows(const Loops<I>& loops, const I* x, std::int64_t rows, std::int64_t count, I flip,
                std::int32_t* out) {
  I columns[kShort * kRows<I>], most[kRows<I>], places[kRows<I>];
  for (std::int64_t first = 0; first < rows; first += kRows<I>) {
    const std::int64_t width = std::min(kRows<I>, rows - first);
    loops.columns(x + first * count, rows - first, count, columns);
    std::fill(most, most + width, std::numeric_limits<I>::min());
    std::fill(places, places + width, I(0));
    loops.rows(columns, count, kRows<I>, width, flip, most, places);
    std::copy(places, places + width, out + first);
  }
}

template <typename I, typename Pool>
bool run(const Loops<I>& loops, Pool& pool, const Sizes& n, bool is_min, const void* operand,
         std::int32_t* out) {
  const auto* x = static_cast<const I*>(operand);
  const I flip = is_min ? I(-1) : I(0);
  const std::int64_t all = n.outer * n.reduced * n.inner, block = n.reduced * n.inner;
  const std::int64_t most = std::min(all / kWorthDividing, pool.num_threads());
  const auto several = [&](std::int64_t first, std::int64_t last) {
    if (n.inner == 1 && n.reduced < kShort) {
      short_rows(loops, x + first * block, last - first, n.reduced, flip, out + first);
      return;
    }
    if (n.inner == 1) {
      loops.wholes(x + first * block, last - first, n.reduced, flip, out + first);
      return;
    }
    for (std::int64_t o = first; o < last; ++o) {
      reduce(loops, x + o * block, n.reduced, n.inner, flip, 0, n.inner, out + o * n.inner);
    }
  };
  if (most >= 2 && n.outer >= most) {
    divided(pool, most, [&](std::int64_t part) {
      several(n.outer * part / most, n.outer * (part + 1) / most);
    });
  } else if (most >= 2 && n.inner >= most * kNarrow) {
    divided(pool, most, [&](std::int64_t part) {
      for (std::int64_t o = 0; o < n.outer; ++o) {
        reduce(loops, x + o * block, n.reduced, n.inner, flip, n.inner * part / most,
               n.inner * (part + 1) / most, out + o * n.inner);
      }
    });
  } else {
    several(0, n.outer);
  }
  return true;
}

#define MORPHAX_RUN(I, name) \
  run(Loops<I>{&wholes_##name, &columns_##name, &rows_##name}, pool, n, is_min, x, out)

// False if there is no order of this dtype.
template <typename Pool>
bool find_places(Pool& pool, ffi::DataType dtype, const Sizes& n, bool is_min, const void* x,
                 std::int32_t* out) {
  switch (dtype) {
    case ffi::F16:
      return MORPHAX_RUN(std::int16_t, f16);
    case ffi::BF16:
      return MORPHAX_RUN(std::int16_t, bf16);
    case ffi::F32:
      return MORPHAX_RUN(std::int32_t, f32);
    case ffi::F64:
      return MORPHAX_RUN(std::int64_t, f64);
    case ffi::S8:
      return MORPHAX_RUN(std::int8_t, s8);
    case ffi::S16:
      return MORPHAX_RUN(std::int16_t, s16);
    case ffi::S32:
      return MORPHAX_RUN(std::int32_t, s32);
    case ffi::S64:
      return MORPHAX_RUN(std::int64_t, s64);
    case ffi::PRED:
    case ffi::U8:
      return MORPHAX_RUN(std::int8_t, u8);
    case ffi::U16:
      return MORPHAX_RUN(std::int16_t, u16);
    case ffi::U32:
      return MORPHAX_RUN(std::int32_t, u32);
    case ffi::U64:
      return MORPHAX_RUN(std::int64_t, u64);
    default:
      return false;
  }
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::AnyBuffer x,
                         ffi::Result<ffi::Buffer<ffi::S32>> out, std::int64_t outer,
                         std::int64_t reduced, std::int64_t inner, bool is_min) {
  const Sizes n{outer, reduced, inner};
  const auto elements = static_cast<std::int64_t>(x.element_count());
  if (outer * reduced * inner != elements || reduced < 1 ||
      reduced > std::numeric_limits<std::int32_t>::max() ||
      outer * inner != static_cast<std::int64_t>(out->element_count())) {
    return ffi::Error::InvalidArgument("places of extremes of arrays of other sizes");
  }
  if (!find_places(pool, x.element_type(), n, is_min, x.untyped_data(), out->typed_data()))
    return ffi::Error::InvalidArgument("places of extremes of another dtype");
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<std::int64_t>("outer")
                           .Attr<std::int64_t>("reduced")
                           .Attr<std::int64_t>("inner")
                           .Attr<bool>("is_min"));

ffi::DataType type_of(PyArrayObject* array) {
  using ffi::DataType;
  const npy_intp size = PyArray_ITEMSIZE(array);
  if (PyTypeNum_ISUSERDEF(PyArray_TYPE(array)) || size > 8) return DataType::INVALID;
  const auto of_size = [size](DataType one, DataType two, DataType four, DataType eight) {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : eight;
  };
  const char kind = PyArray_DESCR(array)->kind;
  if (kind == 'f') return of_size(DataType::INVALID, ffi::F16, ffi::F32, ffi::F64);
  if (kind == 'i') return of_size(ffi::S8, ffi::S16, ffi::S32, ffi::S64);
  if (kind == 'u' || kind == 'b') return of_size(ffi::U8, ffi::U16, ffi::U32, ffi::U64);
  return DataType::INVALID;
}

// Places along the middle one of three axes, in a row.
nb::object places(nb::handle array, std::int64_t outer, std::int64_t reduced, std::int64_t inner,
                  bool is_min) {
  const nb::object held = checked(PyArray_FROM_OF(array.ptr(), NPY_ARRAY_CARRAY_RO));
  auto* x = reinterpret_cast<PyArrayObject*>(held.ptr());
  const ffi::DataType type = type_of(x);
  if (type == ffi::DataType::INVALID || reduced < 1 || outer * reduced * inner != PyArray_SIZE(x) ||
      reduced > std::numeric_limits<std::int32_t>::max())
    throw nb::value_error("places of extremes of an array of another size or dtype");
  npy_intp size = outer * inner;
  nb::object out = checked(PyArray_EMPTY(1, &size, NPY_INT32, 0));
  void* found = PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.ptr()));
  const process_end::OthersRun others_run;
  find_places(Workers::shared(), type, {outer, reduced, inner}, is_min, PyArray_DATA(x),
              static_cast<std::int32_t*>(found));
  return out;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("places", &places, nb::arg("array"), nb::arg("outer"), nb::arg("reduced"),
             nb::arg("inner"), nb::arg("is_min"), "Places of extremes along the middle axis.");
  bind_handler(module, handler, "XLA's way to the places of extremes, as a capsule.");
}

}  // namespace morphax::extreme_places
