// Kernels of the reference engine where NumPy's are slow, or not what XLA computes.
//
// NumPy chooses between two arrays by a jump per element, which a processor cannot foresee where
// the choice is irregular.  Here both elements are read and one is kept.  Of 0 and -0 NumPy takes
// either as the larger one.  Rows that are scattered it adds up one number at a time.
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
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using MutableMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// out[i] += data · rows[k] for each stored element (i, k), in their order.  Negative
// places count from the end, those out of bounds are padding.
template <typename T>
void sparse_product(Bits<T> data, Matrix<std::int32_t> places, Matrix<T> rows,
                    MutableMatrix<T> out) {
  const std::size_t count = data.shape(0), width = out.shape(1);
  if (places.shape(0) != count || places.shape(1) != 2 || rows.shape(1) != width)
    throw nb::value_error("sparse_product: arrays of different sizes");
  const nb::gil_scoped_release others_run;
  const std::int64_t height = out.shape(0), depth = rows.shape(0);
  const auto from_start = [](std::int64_t place, std::int64_t size) {
    return place < 0 ? place + size : place;
  };
  for (std::size_t n = 0; n < count; ++n) {
    const std::int64_t i = from_start(places.data()[2 * n], height);
    const std::int64_t k = from_start(places.data()[2 * n + 1], depth);
    if (i < 0 || i >= height || k < 0 || k >= depth) continue;
    const T element = data.data()[n], *row = rows.data() + k * width;
    T* total = out.data() + i * width;
    for (std::size_t j = 0; j < width; ++j) total[j] += element * row[j];
  }
}

template <typename T>
void bind_sparse_product(nb::module_& module) {
  module.def("sparse_product", &sparse_product<T>, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg().noconvert());
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
  bind_sparse_product<float>(module);
  bind_sparse_product<double>(module);
}

}  // namespace morphax::kernels
