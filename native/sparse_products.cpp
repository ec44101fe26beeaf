// Products of sparse matrices with rows of numbers: NumPy adds up rows that are scattered one
// number at a time.
#include "sparse_products.h"

#include <nanobind/ndarray.h>

#include <cstdint>

#include "process_end.h"

namespace morphax::sparse_products {

namespace nb = nanobind;

namespace {

template <typename T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using MutableMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// out[i] += data · rows[k] for each stored element (i, k), in their order.  Negative
// places count from the end, those out of bounds are padding.
template <typename T>
void sparse_product(Vector<T> data, Matrix<std::int32_t> places, Matrix<T> rows,
                    MutableMatrix<T> out) {
  const std::size_t count = data.shape(0), width = out.shape(1);
  if (places.shape(0) != count || places.shape(1) != 2 || rows.shape(1) != width)
    throw nb::value_error("sparse_product: arrays of different sizes");
  const process_end::OthersRun others_run;
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
void bind_product(nb::module_& module) {
  module.def("sparse_product", &sparse_product<T>, nb::arg().noconvert(), nb::arg().noconvert(),
             nb::arg().noconvert(), nb::arg().noconvert());
}

}  // namespace

void bind(nb::module_& module) {
  bind_product<float>(module);
  bind_product<double>(module);
}

}  // namespace morphax::sparse_products
