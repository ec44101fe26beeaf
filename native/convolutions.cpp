// Convolutions of few numbers.
//
// Of each window it is known which elements of the left operand it sees, and which of the kernel
// each is multiplied by; the tables come from `kernel_of_few` in
// `morphax/lax/window/convolution_numpy.py`, whose `convolved` is the twin.  Places in gaps, of
// which a dilated operand has most, are in no table: 0 times a weight adds nothing, unless the
// weight is infinite or NaN.
#include "convolutions.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "objects.h"

namespace morphax::convolutions {

namespace {

// Outputs that are summed side by side.
constexpr std::size_t kLanes = 4;

// What a window sees at one place: an element, and which of the kernel's terms it is multiplied by.
struct Seen {
  std::int32_t element, term;
};

struct Convolution {
  std::vector<Seen> seen;
  std::vector<std::size_t> ends;      // of what each window sees
  std::vector<std::int32_t> weights;  // of each group and output, the number of each term
  std::vector<std::int32_t> places;   // of the result of each window and output
  std::vector<npy_intp> shape;
  std::size_t terms = 0, groups = 0, outputs = 0;
  npy_intp left_size = 0, right_size = 0;

  std::size_t windows() const { return ends.size() / groups; }
};

[[noreturn]] void refuse(PyObject* error, const char* reason) {
  PyErr_SetString(error, reason);
  throw nb::python_error();
}

// The weights as they are read: of each group and `width` outputs, those of a term side by side.
template <typename T>
std::vector<double> weights_of(const Convolution& given, const T* right, std::size_t width) {
  const std::size_t blocks = (given.outputs + width - 1) / width;
  std::vector<double> found(given.groups * blocks * given.terms * width);
  for (std::size_t group = 0; group < given.groups; ++group) {
    for (std::size_t output = 0; output < given.outputs; ++output) {
      const std::int32_t* from =
          given.weights.data() + (group * given.outputs + output) * given.terms;
      double* to =
          found.data() + (group * blocks + output / width) * given.terms * width + output % width;
      for (std::size_t k = 0; k < given.terms; ++k) {
        to[k * width] = static_cast<double>(right[from[k]]);
      }
    }
  }
  return found;
}

// What places in gaps add to the sums of a window: 0, or NaN.
void add_gaps(const Seen* seen, const Seen* end, const double* weights, std::size_t terms,
              std::size_t width, double* sums) {
  for (std::size_t k = 0; k < terms; ++k) {
    if (seen != end && static_cast<std::size_t>(seen->term) == k) {
      ++seen;
      continue;
    }
    for (std::size_t lane = 0; lane < width; ++lane) sums[lane] += 0.0 * weights[k * width + lane];
  }
}

// Numbers side by side; one alone is a number.
template <std::size_t width>
struct Vector {
  typedef double Lanes __attribute__((vector_size(width * sizeof(double))));
};

template <>
struct Vector<1> {
  using Lanes = double;
};

template <typename Lanes, typename T>
[[gnu::always_inline]] inline void add_product(Lanes& sum, Seen seen, const T* left,
                                               const double* weights) {
  constexpr std::size_t kWidth = sizeof(Lanes) / sizeof(double);
  Lanes beside;
  std::memcpy(&beside, weights + static_cast<std::size_t>(seen.term) * kWidth, sizeof(beside));
  sum += static_cast<double>(left[seen.element]) * beside;
}

// Sums are double ones; those of float32 are rounded once.
template <typename T, std::size_t width>
[[gnu::always_inline]] inline void compute(const Convolution& given, const T* left, const T* right,
                                           T* results) {
  using Lanes = typename Vector<width>::Lanes;
  const std::vector<double> weights = weights_of(given, right, width);
  double spread = 0;
  for (double weight : weights) spread += 0.0 * weight;
  const bool are_finite = spread == 0;
  const std::size_t windows = given.windows(), of_block = given.terms * width;
  const double* first = weights.data();
  const Seen* seen = given.seen.data();
  for (std::size_t group = 0; group < given.groups; ++group) {
    for (std::size_t start = 0; start < given.outputs; start += width, first += of_block) {
      const std::size_t count = std::min(width, given.outputs - start);
      for (std::size_t window = group * windows; window < (group + 1) * windows; ++window) {
        const Seen* end = seen + given.ends[window];
        const Seen* begin = window == 0 ? seen : seen + given.ends[window - 1];
        // A sum waits for the one before, so there are two.
        Lanes even = {}, odd = {};
        const Seen* at = begin;
        for (; at + 2 <= end; at += 2) {
          add_product(even, at[0], left, first);
          add_product(odd, at[1], left, first);
        }
        if (at < end) add_product(even, *at, left, first);
        const Lanes sum = even + odd;
        double sums[width];
        std::memcpy(sums, &sum, sizeof(sum));
        if (!are_finite) add_gaps(begin, end, first, given.terms, width, sums);
        const std::int32_t* places = given.places.data() + window * given.outputs + start;
        for (std::size_t lane = 0; lane < count; ++lane) {
          results[places[lane]] = static_cast<T>(sums[lane]);
        }
      }
    }
  }
}

template <typename T>
using Compute = void (*)(const Convolution&, const T* left, const T* right, T* results);

#define MORPHAX_CONVOLUTION(NAME)                                                  \
  template <typename T, std::size_t width>                                         \
  void NAME(const Convolution& given, const T* left, const T* right, T* results) { \
    compute<T, width>(given, left, right, results);                                \
  }

MORPHAX_CONVOLUTION(compute_anywhere)
#if defined(__x86_64__) && defined(__linux__)
#pragma GCC push_options
#pragma GCC target("avx2")
MORPHAX_CONVOLUTION(compute_by_32_bytes)
#pragma GCC pop_options
#endif

template <typename T, std::size_t width>
Compute<T> for_processor() {
#if defined(__x86_64__) && defined(__linux__)
  if (__builtin_cpu_supports("avx2")) return compute_by_32_bytes<T, width>;
#endif
  return compute_anywhere<T, width>;
}

template <typename T>
void compute_any(const Convolution& given, const void* left, const void* right, void* results) {
  static const Compute<T> of_one = for_processor<T, 1>(), of_several = for_processor<T, kLanes>();
  const auto run = given.outputs == 1 ? of_one : of_several;
  run(given, static_cast<const T*>(left), static_cast<const T*>(right), static_cast<T*>(results));
}

nb::object call_convolution(const Convolution& given, PyObject* const* operands,
                            std::size_t count) {
  if (count != 2) refuse(PyExc_TypeError, "a convolution takes two arrays");
  nb::object arrays[2];
  PyArrayObject* numpy[2];
  for (int i = 0; i < 2; ++i) {
    if (!PyArray_Check(operands[i])) refuse(PyExc_TypeError, "a convolution takes arrays");
    arrays[i] = checked(PyArray_FROM_OF(operands[i], NPY_ARRAY_CARRAY_RO));
    numpy[i] = reinterpret_cast<PyArrayObject*>(arrays[i].ptr());
  }
  const int type = PyArray_TYPE(numpy[0]);
  if (type != PyArray_TYPE(numpy[1]) || (type != NPY_FLOAT && type != NPY_DOUBLE))
    refuse(PyExc_TypeError, "a convolution takes float32 or float64");
  if (PyArray_SIZE(numpy[0]) != given.left_size || PyArray_SIZE(numpy[1]) != given.right_size)
    refuse(PyExc_ValueError, "a convolution of arrays of another size");
  nb::object out = checked(PyArray_EMPTY(static_cast<int>(given.shape.size()),
                                         const_cast<npy_intp*>(given.shape.data()), type, 0));
  void* data = PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.ptr()));
  const auto run = type == NPY_FLOAT ? &compute_any<float> : &compute_any<double>;
  run(given, PyArray_DATA(numpy[0]), PyArray_DATA(numpy[1]), data);
  return out;
}

constexpr const char* kCapsule = "morphax.convolution";

PyObject* call_capsule(PyObject* capsule, PyObject* const* operands, Py_ssize_t count) {
  return guarded([&] {
    const auto* given = static_cast<const Convolution*>(PyCapsule_GetPointer(capsule, kCapsule));
    return call_convolution(*given, operands, static_cast<std::size_t>(count));
  });
}

PyMethodDef convolution_method = {
    "convolution", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_capsule)),
    METH_FASTCALL, nullptr};

// The numbers of an int32 array, each from `least` to below `end`.
std::vector<std::int32_t> numbers(nb::handle given, std::int64_t least, std::int64_t end) {
  auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
  if (!PyArray_Check(given.ptr()) || PyArray_TYPE(array) != NPY_INT32 ||
      !PyArray_IS_C_CONTIGUOUS(array))
    refuse(PyExc_TypeError, "a convolution is given by arrays of int32");
  const auto* first = static_cast<const std::int32_t*>(PyArray_DATA(array));
  std::vector<std::int32_t> found(first, first + PyArray_SIZE(array));
  for (std::int32_t number : found) {
    if (number < least || number >= end) refuse(PyExc_IndexError, "no such element");
  }
  return found;
}

nb::object make(nb::handle left, nb::handle right, nb::handle places, std::size_t groups,
                std::size_t terms, npy_intp left_size, npy_intp right_size, nb::sequence shape) {
  auto made = std::make_unique<Convolution>();
  const std::vector<std::int32_t> seen = numbers(left, -1, left_size);
  made->weights = numbers(right, 0, right_size);
  std::int64_t count = 1;
  for (nb::handle size : shape) {
    made->shape.push_back(nb::cast<npy_intp>(size));
    count *= made->shape.back();
  }
  made->places = numbers(places, 0, count);
  if (terms == 0 || groups == 0) refuse(PyExc_ValueError, "a convolution without terms");
  made->terms = terms, made->groups = groups;
  made->left_size = left_size, made->right_size = right_size;
  made->outputs = made->weights.size() / (groups * terms);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto term = static_cast<std::int32_t>(i % terms);
    if (seen[i] >= 0) made->seen.push_back({seen[i], term});
    if ((i + 1) % terms == 0) made->ends.push_back(made->seen.size());
  }
  if (made->weights.size() != groups * terms * made->outputs ||
      seen.size() != made->ends.size() * terms || made->ends.size() % groups != 0 ||
      made->places.size() != made->ends.size() * made->outputs ||
      made->places.size() != static_cast<std::size_t>(count)) {
    refuse(PyExc_ValueError, "a convolution of another number of results");
  }
  const nb::object capsule = checked(PyCapsule_New(made.get(), kCapsule, [](PyObject* self) {
    delete static_cast<Convolution*>(PyCapsule_GetPointer(self, kCapsule));
  }));
  made.release();
  return checked(PyCFunction_New(&convolution_method, capsule.ptr()));
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  module.def("make", &make);
}

}  // namespace morphax::convolutions
