// Kernels of the reference engine where NumPy's are slow, or not what XLA computes.
//
// NumPy chooses between two arrays by a jump per element, which a processor cannot foresee where
// the choice is irregular.  Here both elements are read and one is kept.  Of 0 and -0 NumPy takes
// either as the larger one.
#include "kernels.h"

#include <nanobind/ndarray.h>

#include <cstdint>

namespace morphax::kernels {

namespace nb = nanobind;

namespace {

// Elements by their bits.  A case of one element stands for as many as needed.
template <typename T>
using Bits = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Result = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Calls `body(i, a, b)` for each element; operands of one element are read once.
template <typename T, typename Body>
inline void for_each(const T* a, bool a_varies, const T* b, bool b_varies, std::size_t count,
                     Body body) {
  const T first = *a, second = *b;
  if (a_varies && b_varies) {
    for (std::size_t i = 0; i < count; ++i) body(i, a[i], b[i]);
  } else if (a_varies) {
    for (std::size_t i = 0; i < count; ++i) body(i, a[i], second);
  } else {
    for (std::size_t i = 0; i < count; ++i) body(i, first, b_varies ? b[i] : second);
  }
}

// Functions one by one: compilers make several versions of plain functions only.
#define MORPHAX_CHOOSE(T)                                                                \
  MORPHAX_VECTORIZED                                                                     \
  void choose(const std::uint8_t* which, const T* yes, bool yes_varies, const T* no,     \
              bool no_varies, std::size_t count, T* out) {                               \
    for_each(yes, yes_varies, no, no_varies, count,                                      \
             [=](std::size_t i, T mine, T other) { out[i] = which[i] ? mine : other; }); \
  }

MORPHAX_CHOOSE(std::uint8_t)
MORPHAX_CHOOSE(std::uint16_t)
MORPHAX_CHOOSE(std::uint32_t)
MORPHAX_CHOOSE(std::uint64_t)

// out = which ? yes : no
template <typename T>
void where(Bits<std::uint8_t> which, Bits<T> yes, Bits<T> no, Result<T> out) {
  const std::size_t count = out.shape(0);
  const auto fits = [&](std::size_t size) { return size == count || size == 1; };
  if (which.shape(0) != count || !fits(yes.shape(0)) || !fits(no.shape(0))) {
    throw nb::value_error("where: arrays of different sizes");
  }
  if (count == 0) return;
  const nb::gil_scoped_release others_run;
  choose(which.data(), yes.data(), yes.shape(0) == count, no.data(), no.shape(0) == count, count,
         out.data());
}

template <typename T>
void bind_where(nb::module_& module) {
  module.def("where", &where<T>, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg().noconvert());
}

}  // namespace

void bind(nb::module_& module) {
  bind_where<std::uint8_t>(module);
  bind_where<std::uint16_t>(module);
  bind_where<std::uint32_t>(module);
  bind_where<std::uint64_t>(module);
}

}  // namespace morphax::kernels
