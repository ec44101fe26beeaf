// Reductions of many short rows, by several threads.
//
// NumPy's functions take 10 to 40 ns from row to row, whatever there is to combine.  Here rows are
// turned, so that elements of many rows lie side by side, and the operations of chains combine
// those.  Each row has the bits of NumPy's `reduce`, the twin: sums are added in its order.
#include "row_reductions.h"

#include <nanobind/stl/string_view.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fused_operations.h"
#include "kernels.h"
#include "objects.h"
#include "process_end.h"
#include "turned_squares.h"
#include "workers.h"

namespace morphax::row_reductions {

namespace {

using Flag = std::uint8_t;
using Word = std::uint32_t;
using Wide = std::uint64_t;

// So many rows are combined at a time.
constexpr std::int64_t kLanes = 64;
// NumPy adds as many numbers at a time, of rows that are no shorter.
constexpr std::int64_t kSums = 8;
// Of longer ones it adds halves.
constexpr npy_intp kMostElements = 128;

struct Reduction {
  fused::Loop loop = nullptr;
  bool adds = false;  // floats, whose order counts
  int dtype = 0;
  std::vector<npy_intp> shape;  // of the result
  npy_intp rows = 1, count = 0;
  nb::object twin;
};

// Elements i of rows `from` …, side by side from `to[i * kLanes]` on.
#define MORPHAX_TURN(T)                                                    \
  MORPHAX_VECTORIZED                                                       \
  void turn(const T* from, std::int64_t rows, std::int64_t count, T* to) { \
    turned_squares::turn_rows(from, count, rows, count, to, kLanes);       \
  }
MORPHAX_TURN(Flag)
MORPHAX_TURN(Word)
MORPHAX_TURN(Wide)
#undef MORPHAX_TURN

// Combines what was turned; the results come first.
template <typename T>
void combine(const Reduction& reduction, T* lanes) {
  const auto to_first = [&](std::int64_t to, std::int64_t from, std::int64_t many = 1) {
    T* out = lanes + to * kLanes;
    // Truth values are combined bit by bit, so four of them are a word.
    constexpr std::int64_t words = kLanes * sizeof(T) / std::max(sizeof(T), sizeof(Word));
    reduction.loop(static_cast<std::size_t>(many * words), out, lanes + from * kLanes, nullptr,
                   out);
  };
  std::int64_t next = 1;
  if (reduction.adds && reduction.count >= kSums) {
    for (next = kSums; next + kSums <= reduction.count; next += kSums) to_first(0, next, kSums);
    for (std::int64_t apart = 1; apart < kSums; apart *= 2) {
      for (std::int64_t i = 0; i < kSums; i += 2 * apart) to_first(i, i + apart);
    }
  }
  for (; next < reduction.count; ++next) to_first(0, next);
  if (!reduction.adds) return;
  // It begins with 0, which -0 does not change.
  T* zeros = lanes + reduction.count * kLanes;
  std::fill_n(zeros, kLanes, T{0});
  to_first(0, reduction.count);
}

template <typename T>
void run(const Reduction& reduction, const T* from, T* to, std::int64_t first, std::int64_t last) {
  std::vector<T> lanes(static_cast<std::size_t>((reduction.count + 1) * kLanes));
  for (std::int64_t row = first; row < last; row += kLanes) {
    const std::int64_t rows = std::min(last - row, kLanes);
    turn(from + row * reduction.count, rows, reduction.count, lanes.data());
    combine(reduction, lanes.data());
    std::copy_n(lanes.data(), rows, to + row);
  }
}

void run_rows(const Reduction& reduction, const void* from, void* to, npy_intp width,
              std::int64_t first, std::int64_t last) {
  if (width == sizeof(Flag)) {
    run(reduction, static_cast<const Flag*>(from), static_cast<Flag*>(to), first, last);
  } else if (width == sizeof(Word)) {
    run(reduction, static_cast<const Word*>(from), static_cast<Word*>(to), first, last);
  } else {
    run(reduction, static_cast<const Wide*>(from), static_cast<Wide*>(to), first, last);
  }
}

nb::object call(Reduction& reduction, PyObject* operand) {
  auto* array = reinterpret_cast<PyArrayObject*>(operand);
  if (!PyArray_CheckExact(operand) || PyArray_TYPE(array) != reduction.dtype ||
      !PyArray_ISCARRAY_RO(array) || PyArray_SIZE(array) != reduction.rows * reduction.count)
    return morphax::call(reduction.twin, nb::handle(operand));
  nb::object result = checked(PyArray_EMPTY(static_cast<int>(reduction.shape.size()),
                                            reduction.shape.data(), reduction.dtype, 0));
  void* to = PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.ptr()));
  const process_end::OthersRun others_run;
  in_pieces(reduction.rows, PyArray_SIZE(array), [&](std::int64_t first, std::int64_t last) {
    run_rows(reduction, PyArray_DATA(array), to, PyArray_ITEMSIZE(array), first, last);
  });
  return result;
}

constexpr const char* kCapsule = "morphax.row_reduction";

PyObject* call_capsule(PyObject* capsule, PyObject* operand) {
  return guarded([&] {
    return call(*static_cast<Reduction*>(PyCapsule_GetPointer(capsule, kCapsule)), operand);
  });
}

PyMethodDef method = {"reduced_rows", call_capsule, METH_O, nullptr};

// The function `twin`, of arrays of a dtype, of which the last `count` elements in memory are a
// row; None if there is no such operation of chains, or rows are too long.
nb::object reduced_rows(std::string_view operation, int dtype, nb::sequence shape, npy_intp count,
                        nb::object twin) {
  const fused::Operation* found = fused::find(operation);
  if (found == nullptr || found->operands != 2 || found->rounds != nullptr || count < 2 ||
      count > kMostElements)
    return nb::none();
  auto reduction = std::make_unique<Reduction>();
  reduction->loop = found->loop;
  reduction->adds = PyTypeNum_ISFLOAT(dtype) && operation.substr(0, 4) == "add_";
  reduction->dtype = dtype;
  for (nb::handle size : shape) {
    reduction->shape.push_back(nb::cast<npy_intp>(size));
    reduction->rows *= reduction->shape.back();
  }
  reduction->count = count;
  reduction->twin = std::move(twin);
  const nb::object capsule = checked(PyCapsule_New(reduction.get(), kCapsule, [](PyObject* self) {
    delete static_cast<Reduction*>(PyCapsule_GetPointer(self, kCapsule));
  }));
  reduction.release();
  return checked(PyCFunction_New(&method, capsule.ptr()));
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("reduced_rows", &reduced_rows, nb::arg("operation"), nb::arg("dtype"),
             nb::arg("shape"), nb::arg("count"), nb::arg("twin"),
             "A reduction of rows, by threads, or None.");
}

}  // namespace morphax::row_reductions
