// Copies of arrays with their axes in another order.
//
// Where the last axis becomes another one, elements that lie side by side are far apart in the
// copy, or were in the array.  NumPy goes along one of them and misses the cache along the other.
// Here squares are copied, whose lines of both are used while they are in the cache, and squares of
// few elements are turned in registers.  Its twin is NumPy's copy.
#include "transposition.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels.h"
#include "objects.h"
#include "process_end.h"
#include "turned_squares.h"
#include "workers.h"

namespace morphax::transposition {

using turned_squares::turn_rows;

namespace {

// Elements along both sides of a square: lines of the cache for most dtypes.
constexpr std::int64_t kSide = 16;
// Shorter rows NumPy copies faster.
constexpr std::int64_t kLongRow = 64;

// An axis of the copy: its size, and the distance of its elements here and there.
struct Axis {
  std::int64_t size, from, to;
};

// What is copied, with axes that stay neighbours taken together; distances are in elements.
struct Copy {
  std::vector<Axis> outer;
  Axis across{1, 1, 0};  // whose elements lie side by side in the array
  Axis along{1, 0, 1};   // …, in the copy; of a copy by rows, both
  bool by_rows = false;
  std::int64_t elements = 1;
};

std::vector<Axis> merged(PyArrayObject* array, const std::vector<int>& permutation) {
  std::vector<Axis> axes;
  const std::int64_t item = PyArray_ITEMSIZE(array);
  for (const int axis : permutation) {
    const Axis next{PyArray_DIM(array, axis), PyArray_STRIDE(array, axis) / item, 0};
    if (next.size == 1) continue;
    if (!axes.empty() && axes.back().from == next.from * next.size) {
      axes.back() = {axes.back().size * next.size, next.from, 0};
    } else {
      axes.push_back(next);
    }
  }
  std::int64_t distance = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    axis->to = distance;
    distance *= axis->size;
  }
  return axes;
}

Copy planned(PyArrayObject* array, const std::vector<int>& permutation) {
  Copy copy;
  copy.elements = PyArray_SIZE(array);
  copy.outer = merged(array, permutation);
  if (copy.outer.empty()) {
    copy.by_rows = true;
    return copy;
  }
  copy.along = copy.outer.back();
  copy.outer.pop_back();
  copy.by_rows = copy.along.from == 1;
  const auto side_by_side = std::find_if(copy.outer.begin(), copy.outer.end(),
                                         [](const Axis& axis) { return axis.from == 1; });
  if (!copy.by_rows) {
    copy.across = *side_by_side;
    copy.outer.erase(side_by_side);
  }
  return copy;
}

// Calls `body(from, to)` for places of the outer axes, numbers `first` to `last`.
template <typename Body>
void for_each_outer(const Copy& copy, std::int64_t number, Body body) {
  std::int64_t from = 0, to = 0;
  for (auto axis = copy.outer.rbegin(); axis != copy.outer.rend(); ++axis) {
    from += number % axis->size * axis->from;
    to += number % axis->size * axis->to;
    number /= axis->size;
  }
  body(from, to);
}

std::int64_t count_outer(const Copy& copy) {
  std::int64_t count = 1;
  for (const Axis& axis : copy.outer) count *= axis.size;
  return count;
}

template <typename T>
void copy_rows(const Copy& copy, const T* from, T* to) {
  in_pieces(count_outer(copy), copy.elements, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      for_each_outer(copy, row, [&](std::int64_t here, std::int64_t there) {
        std::memcpy(to + there, from + here, static_cast<std::size_t>(copy.along.size) * sizeof(T));
      });
    }
  });
}

// Up to `kSide` rows of the copy.  Functions one by one: compilers make several versions of plain
// functions only.
#define MORPHAX_BAND(T)                                                      \
  MORPHAX_VECTORIZED_INTEGERS                                                \
  void turn_band(const Axis& along, std::int64_t rows, const T* from, T* to, \
                 std::int64_t column) {                                      \
    turn_rows(from, along.from, along.size, rows, to, column);               \
  }
MORPHAX_BAND(std::uint8_t)
MORPHAX_BAND(std::uint16_t)
MORPHAX_BAND(std::uint32_t)
MORPHAX_BAND(std::uint64_t)
#undef MORPHAX_BAND

template <typename T>
void turn(const Copy& copy, const T* from, T* to) {
  const std::int64_t bands = (copy.across.size + kSide - 1) / kSide;
  in_pieces(count_outer(copy) * bands, copy.elements, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t begin = piece % bands * kSide;
      const std::int64_t rows = std::min(kSide, copy.across.size - begin);
      for_each_outer(copy, piece / bands, [&](std::int64_t here, std::int64_t there) {
        turn_band(copy.along, rows, from + here + begin, to + there + begin * copy.across.to,
                  copy.across.to);
      });
    }
  });
}

template <typename T>
void run(const Copy& copy, PyArrayObject* array, PyArrayObject* out) {
  const T* from = static_cast<const T*>(PyArray_DATA(array));
  T* to = static_cast<T*>(PyArray_DATA(out));
  const process_end::OthersRun others_run;
  if (copy.by_rows) {
    copy_rows(copy, from, to);
  } else {
    turn(copy, from, to);
  }
}

nb::object by_numpy(PyArrayObject* array, std::vector<npy_intp>& order) {
  PyArray_Dims dims{order.data(), static_cast<int>(order.size())};
  const nb::object view = checked(PyArray_Transpose(array, &dims));
  return checked(PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(view.ptr()), NPY_CORDER));
}

// A copy of an array, whose axis i is its axis permutation[i].
nb::object transposed(nb::handle given, nb::sequence permutation) {
  if (!PyArray_Check(given.ptr())) throw nb::type_error("transposed: an array of NumPy");
  auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
  std::vector<npy_intp> order;
  std::vector<int> axes;
  for (nb::handle axis : permutation) {
    order.push_back(nb::cast<npy_intp>(axis));
    axes.push_back(nb::cast<int>(axis));
  }
  const npy_intp item = PyArray_ITEMSIZE(array);
  // Elements of float0 have no bytes.
  const bool is_plain = item != 0 && PyArray_ISCARRAY_RO(array) && PyArray_SIZE(array) != 0 &&
                        !PyDataType_REFCHK(PyArray_DESCR(array));
  if (!is_plain || static_cast<int>(axes.size()) != PyArray_NDIM(array))
    return by_numpy(array, order);
  std::vector<npy_intp> shape;
  for (const npy_intp axis : order) {
    if (axis < 0 || axis >= PyArray_NDIM(array)) return by_numpy(array, order);
    shape.push_back(PyArray_DIM(array, static_cast<int>(axis)));
  }
  const Copy copy = planned(array, axes);
  if (copy.by_rows && copy.along.size * item < kLongRow) return by_numpy(array, order);
  Py_INCREF(PyArray_DESCR(array));
  nb::object out =
      checked(PyArray_Empty(static_cast<int>(shape.size()), shape.data(), PyArray_DESCR(array), 0));
  auto* result = reinterpret_cast<PyArrayObject*>(out.ptr());
  switch (item) {
    case 1:
      run<std::uint8_t>(copy, array, result);
      break;
    case 2:
      run<std::uint16_t>(copy, array, result);
      break;
    case 4:
      run<std::uint32_t>(copy, array, result);
      break;
    case 8:
      run<std::uint64_t>(copy, array, result);
      break;
    default:
      return by_numpy(array, order);
  }
  return out;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("transposed", &transposed, nb::arg("array"), nb::arg("permutation"),
             "A copy with the axes in another order.");
}

}  // namespace morphax::transposition
