// Kernels of the reference engine where NumPy's are slow, or not what XLA computes.
//
// NumPy chooses between two arrays by a jump per element, which a processor cannot foresee where
// the choice is irregular.  Here both elements are read and one is kept.  Of 0 and -0 NumPy takes
// either as the larger one, and what it makes of floats beyond the range of an integer dtype
// depends on the processor.
//
// Operands are arrays of one shape, or without axes; a call costs a tenth of a microsecond.
#include "kernels.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "largest.h"
#include "objects.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::kernels {

namespace {

// Results of more elements are computed while other threads run.
constexpr std::size_t kMany = 1 << 12;

// An operand whose elements lie in order; one without axes stands for as many as needed.
struct Operand {
  nb::object array;
  const void* data;
  std::size_t count;
  bool varies;
};

PyArrayObject* as_array(const nb::object& object) {
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

Operand operand(PyObject* given) {
  if (!PyArray_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "kernels take arrays of NumPy");
    throw nb::python_error();
  }
  nb::object array = checked(PyArray_FromArray(reinterpret_cast<PyArrayObject*>(given), nullptr,
                                               NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED));
  auto* found = as_array(array);
  const void* data = PyArray_DATA(found);
  const auto count = static_cast<std::size_t>(PyArray_SIZE(found));
  return {std::move(array), data, count, PyArray_NDIM(found) != 0};
}

// An array of the shape of the operands.
nb::object new_result(std::initializer_list<const Operand*> operands, PyArray_Descr* dtype) {
  const Operand* whole = *operands.begin();
  for (const Operand* one : operands) {
    if (one->varies) whole = one;
  }
  auto* like = as_array(whole->array);
  for (const Operand* one : operands) {
    if (one->varies && !PyArray_SAMESHAPE(as_array(one->array), like)) {
      throw nb::value_error("kernels: arrays of different shapes");
    }
  }
  Py_INCREF(dtype);
  return checked(PyArray_Empty(PyArray_NDIM(like), PyArray_DIMS(like), dtype, 0));
}

void check(bool fits, const char* what) {
  if (!fits) throw nb::type_error(what);
}

// Calls `body(begin, count)` for all elements: where they are many, without Python's lock, and in
// parts.
template <typename Body>
void computed(std::size_t count, Body body) {
  if (count < kMany) return body(0, count);
  const process_end::OthersRun others_run;
  in_parts(static_cast<std::int64_t>(count), [&](std::int64_t begin, std::int64_t end) {
    body(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  });
}

// The elements of an operand from number `begin` on.
template <typename T>
const T* from(const Operand& x, std::size_t begin) {
  return static_cast<const T*>(x.data) + (x.varies ? begin : 0);
}

// Calls `body(i, a, b)` for each element; operands of one element are read once.
template <typename T, typename Body>
inline void for_each(const T* a, bool a_varies, const T* b, bool b_varies, std::size_t count,
                     Body body) {
  if (count == 0) return;
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

// NaN wins; of equal numbers, 0 is larger than -0, and others have the same bits.
#define MORPHAX_EXTREME(T, name, beats, zero)                                                  \
  MORPHAX_VECTORIZED                                                                           \
  void name(const T* x, bool x_varies, const T* y, bool y_varies, std::size_t count, T* out) { \
    for_each(x, x_varies, y, y_varies, count, [=](std::size_t i, T a, T b) {                   \
      const T distinct = (a beats b) | (a != a) ? a : b;                                       \
      out[i] = (a == 0) & (b == 0) ? zero(a, b) : distinct;                                    \
    });                                                                                        \
  }

// The sum of two zeros is 0 unless both are -0.
template <typename T>
T zero_of_maximum(T a, T b) {
  return a + b;
}
template <typename T>
T zero_of_minimum(T a, T b) {
  return -(-a - b);
}

MORPHAX_EXTREME(float, maximum, >, zero_of_maximum)
MORPHAX_EXTREME(double, maximum, >, zero_of_maximum)
MORPHAX_EXTREME(float, minimum, <, zero_of_minimum)
MORPHAX_EXTREME(double, minimum, <, zero_of_minimum)

template <typename T>
void choose_bits(const Operand& which, const Operand& yes, const Operand& no, PyArrayObject* out) {
  T* to = static_cast<T*>(PyArray_DATA(out));
  const auto all = static_cast<std::size_t>(PyArray_SIZE(out));
  computed(all, [&](std::size_t begin, std::size_t count) {
    choose(from<std::uint8_t>(which, begin), from<T>(yes, begin), yes.varies, from<T>(no, begin),
           no.varies, count, to + begin);
  });
}

// which ? yes : no, as the operation `select_n` has its operands: which, no, yes.
nb::object select(PyObject* which, PyObject* no, PyObject* yes) {
  const auto regular = [](PyObject* x) {
    return PyArray_Check(x) && PyArray_ISCARRAY_RO(reinterpret_cast<PyArrayObject*>(x));
  };
  if (!regular(which) || !regular(yes) || !regular(no) ||
      PyArray_NDIM(reinterpret_cast<PyArrayObject*>(which)) == 0) {
    return checked(PyArray_Where(which, yes, no));
  }
  const Operand flags = operand(which), first = operand(yes), second = operand(no);
  auto* dtype = PyArray_DESCR(as_array(first.array));
  check(PyArray_TYPE(as_array(flags.array)) == NPY_BOOL &&
            PyDataType_ELSIZE(dtype) == PyDataType_ELSIZE(PyArray_DESCR(as_array(second.array))),
        "select: a choice between elements of one dtype");
  nb::object out = new_result({&flags, &first, &second}, dtype);
  switch (PyDataType_ELSIZE(dtype)) {
    case 1:
      choose_bits<std::uint8_t>(flags, first, second, as_array(out));
      break;
    case 2:
      choose_bits<std::uint16_t>(flags, first, second, as_array(out));
      break;
    case 4:
      choose_bits<std::uint32_t>(flags, first, second, as_array(out));
      break;
    case 8:
      choose_bits<std::uint64_t>(flags, first, second, as_array(out));
      break;
    default:
      return checked(PyArray_Where(which, yes, no));
  }
  return out;
}

template <typename T>
using Extreme = void (*)(const T*, bool, const T*, bool, std::size_t, T*);

template <typename T>
void run_extreme(Extreme<T> extreme, const Operand& x, const Operand& y, PyArrayObject* out) {
  T* to = static_cast<T*>(PyArray_DATA(out));
  const auto all = static_cast<std::size_t>(PyArray_SIZE(out));
  computed(all, [&](std::size_t begin, std::size_t count) {
    extreme(from<T>(x, begin), x.varies, from<T>(y, begin), y.varies, count, to + begin);
  });
}

// The larger or the smaller of floats.
nb::object extremes(Extreme<float> of_float, Extreme<double> of_double, PyObject* x, PyObject* y) {
  const Operand first = operand(x), second = operand(y);
  auto* dtype = PyArray_DESCR(as_array(first.array));
  const int type = dtype->type_num;
  check(type == PyArray_TYPE(as_array(second.array)) && (type == NPY_FLOAT || type == NPY_DOUBLE),
        "extremes: of float32 or float64");
  nb::object out = new_result({&first, &second}, dtype);
  if (type == NPY_FLOAT) {
    run_extreme(of_float, first, second, as_array(out));
  } else {
    run_extreme(of_double, first, second, as_array(out));
  }
  return out;
}

// Towards zero, at the ends of the range what is beyond, and 0 for NaN.
template <typename F, typename I>
I integer_of(F x) {
  using Limits = std::numeric_limits<I>;
  // Powers of two, which floats hold: the end of the range, and its beginning, which is inside.
  const F end = std::ldexp(F(1), Limits::digits), begin = static_cast<F>(Limits::min());
  if (x != x) return 0;
  if (x >= end) return Limits::max();
  return x < begin ? Limits::min() : static_cast<I>(x);
}

template <typename F, typename I>
void truncate(const Operand& x, PyArrayObject* out) {
  const F* numbers = static_cast<const F*>(x.data);
  I* to = static_cast<I*>(PyArray_DATA(out));
  computed(x.count, [&](std::size_t begin, std::size_t count) {
    for (std::size_t i = begin; i < begin + count; ++i) to[i] = integer_of<F, I>(numbers[i]);
  });
}

template <typename F>
void truncate_to(int type, const Operand& x, PyArrayObject* out) {
  switch (type) {
    case NPY_INT8:
      return truncate<F, std::int8_t>(x, out);
    case NPY_INT16:
      return truncate<F, std::int16_t>(x, out);
    case NPY_INT32:
      return truncate<F, std::int32_t>(x, out);
    case NPY_INT64:
      return truncate<F, std::int64_t>(x, out);
    case NPY_UINT8:
      return truncate<F, std::uint8_t>(x, out);
    case NPY_UINT16:
      return truncate<F, std::uint16_t>(x, out);
    case NPY_UINT32:
      return truncate<F, std::uint32_t>(x, out);
    case NPY_UINT64:
      return truncate<F, std::uint64_t>(x, out);
    default:
      check(false, "to_integer: an integer dtype");
  }
}

// Floats as integers of a dtype.
nb::object to_integer(PyObject* x, PyObject* dtype) {
  check(PyArray_DescrCheck(dtype), "to_integer: a dtype");
  const Operand given = operand(x);
  auto* wanted = reinterpret_cast<PyArray_Descr*>(dtype);
  const int type = PyArray_TYPE(as_array(given.array));
  check(type == NPY_FLOAT || type == NPY_DOUBLE, "to_integer: of float32 or float64");
  nb::object out = new_result({&given}, wanted);
  if (type == NPY_FLOAT) {
    truncate_to<float>(wanted->type_num, given, as_array(out));
  } else {
    truncate_to<double>(wanted->type_num, given, as_array(out));
  }
  return out;
}

// The places of the largest elements along the last axis of an array of 32 or 64 bits.
nb::object largest_places(PyObject* x, PyObject* count) {
  const Operand given = operand(x);
  auto* array = as_array(given.array);
  const auto kept = nb::cast<npy_intp>(nb::handle(count));
  const int last = PyArray_NDIM(array) - 1;
  if (last < 0 || kept < 1 || kept > PyArray_DIM(array, last))
    throw nb::value_error("largest_places: at least one element, at most as many as there are");
  std::vector<npy_intp> shape(PyArray_DIMS(array), PyArray_DIMS(array) + last + 1);
  const auto length = static_cast<std::size_t>(shape[last]);
  shape[last] = kept;
  nb::object out = checked(PyArray_EMPTY(last + 1, shape.data(), NPY_INT32, 0));
  auto* places = static_cast<npy_int32*>(PyArray_DATA(as_array(out)));
  const std::size_t rows = given.count / length, most = static_cast<std::size_t>(kept);
  switch (PyArray_TYPE(array)) {
    case NPY_FLOAT:
      largest::places(static_cast<const float*>(given.data), rows, length, most, places);
      break;
    case NPY_DOUBLE:
      largest::places(static_cast<const double*>(given.data), rows, length, most, places);
      break;
    case NPY_INT32:
      largest::places(static_cast<const npy_int32*>(given.data), rows, length, most, places);
      break;
    default:
      check(false, "largest_places: of float32, float64 or int32");
  }
  return out;
}

using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);

template <Py_ssize_t expected, typename Body>
PyObject* called(PyObject* const* arguments, Py_ssize_t count, Body body) {
  return guarded([&]() -> nb::object {
    if (count != expected) {
      PyErr_Format(PyExc_TypeError, "this kernel takes %zd arguments", expected);
      throw nb::python_error();
    }
    try {
      return body(arguments);
    } catch (const nb::builtin_exception& error) {
      PyErr_SetString(
          error.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError,
          error.what());
      throw nb::python_error();
    }
  });
}

PyMethodDef method(const char* name, Function function, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL, doc};
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  static PyMethodDef functions[] = {
      method(
          "select",
          [](PyObject*, PyObject* const* x, Py_ssize_t n) {
            return called<3>(x, n, [](auto* x) { return select(x[0], x[1], x[2]); });
          },
          "One of two arrays, element by element."),
      method(
          "maximum",
          [](PyObject*, PyObject* const* x, Py_ssize_t n) {
            return called<2>(x, n,
                             [](auto* x) { return extremes(&maximum, &maximum, x[0], x[1]); });
          },
          "The larger of floats."),
      method(
          "minimum",
          [](PyObject*, PyObject* const* x, Py_ssize_t n) {
            return called<2>(x, n,
                             [](auto* x) { return extremes(&minimum, &minimum, x[0], x[1]); });
          },
          "The smaller of floats."),
      method(
          "to_integer",
          [](PyObject*, PyObject* const* x, Py_ssize_t n) {
            return called<2>(x, n, [](auto* x) { return to_integer(x[0], x[1]); });
          },
          "Floats as integers, saturating."),
      method(
          "largest_places",
          [](PyObject*, PyObject* const* x, Py_ssize_t n) {
            return called<2>(x, n, [](auto* x) { return largest_places(x[0], x[1]); });
          },
          "Where the largest elements are."),
      {nullptr, nullptr, 0, nullptr},
  };
  check_status(PyModule_AddFunctions(module.ptr(), functions));
}

}  // namespace morphax::kernels
