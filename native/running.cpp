// Running sums, products, maxima and minima of floats along rows, called in eager mode and from
// compiled programs on the CPU: XLA's loops take as long for the step of a loop as for the element
// that it computes.
//
// What `morphax/lax/reduction/cumulative.py` defines: sums and products are carried in 64 bits and
// rounded when stored; NaN wins over all numbers, 0 is larger than -0, and what is at an end stays.
// Rows are divided into parts, which XLA's threads work on; one row is the work of one thread, so
// that no number depends on how many there are.
#include "running.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "float_order.h"
#include "objects.h"
#include "parts.h"
#include "process_end.h"
#include "workers.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace morphax::running {

namespace {

constexpr std::int64_t kWorthDividing = 1 << 15;  // elements

// Which operation, as `engines/xla/running_calls.py` numbers them.
enum Operation : std::int64_t { kSum, kProduct, kMax, kMin };

// `step` is 1 or -1; operand and result begin at the end from which it is run.
template <typename T>
void sums_one_by_one(const T* x, T* out, std::int64_t count, std::int64_t step) {
  double total = -0.0;  // which changes no number, -0 among them
  for (std::int64_t i = 0; i < count; ++i) {
    total += static_cast<double>(x[i * step]);
    out[i * step] = static_cast<T>(total);
  }
}

// Sums wait for each other; those of four numbers among themselves do not wait for the total.  None
// of float32 is beyond what 64 bits hold, so this loses nothing.
void sums(const float* x, float* out, std::int64_t count, std::int64_t step) {
  double total = -0.0;
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const float* from = x + i * step;
    float* to = out + i * step;
    const double first = from[0], second = from[step], third = from[2 * step];
    const double two = first + second, three = two + third;
    const double four = two + (third + static_cast<double>(from[3 * step]));
    to[0] = static_cast<float>(total + first);
    to[step] = static_cast<float>(total + two);
    to[2 * step] = static_cast<float>(total + three);
    total += four;
    to[3 * step] = static_cast<float>(total);
  }
  for (; i < count; ++i) {
    total += static_cast<double>(x[i * step]);
    out[i * step] = static_cast<float>(total);
  }
}

void sums(const double* x, double* out, std::int64_t count, std::int64_t step) {
  sums_one_by_one(x, out, count, step);
}

template <typename T>
void products(const T* x, T* out, std::int64_t count, std::int64_t step) {
  double total = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    total *= static_cast<double>(x[i * step]);
    out[i * step] = static_cast<T>(total);
  }
}

template <typename I, I kInfinity, I kNan>
void extremes(const I* x, I* out, std::int64_t count, std::int64_t step, I flip) {
  I most = std::numeric_limits<I>::min();
  for (std::int64_t i = 0; i < count; ++i) {
    most = std::max(most, float_order::key_of<I, kInfinity>(x[i * step], flip));
    out[i * step] = float_order::bits_of<I, kInfinity, kNan>(most, flip);
  }
}

void extremes(const float* x, float* out, std::int64_t count, std::int64_t step, bool is_min) {
  extremes<std::int32_t, 0x7F800000, 0x7FC00000>(reinterpret_cast<const std::int32_t*>(x),
                                                 reinterpret_cast<std::int32_t*>(out), count, step,
                                                 is_min ? -1 : 0);
}

void extremes(const double* x, double* out, std::int64_t count, std::int64_t step, bool is_min) {
  extremes<std::int64_t, 0x7FF0000000000000, 0x7FF8000000000000>(
      reinterpret_cast<const std::int64_t*>(x), reinterpret_cast<std::int64_t*>(out), count, step,
      is_min ? -1 : 0);
}

template <typename T>
void row(const T* x, T* out, std::int64_t count, std::int64_t step, std::int64_t operation) {
  switch (operation) {
    case kSum:
      sums(x, out, count, step);
      break;
    case kProduct:
      products(x, out, count, step);
      break;
    default:
      extremes(x, out, count, step, operation == kMin);
  }
}

template <typename Pool, typename T>
void run(Pool& pool, const T* x, T* out, std::int64_t elements, std::int64_t length,
         std::int64_t operation, bool reverse) {
  const std::int64_t rows = elements / length;
  const std::int64_t worth = std::min(rows, elements / kWorthDividing);
  const std::int64_t most = std::clamp<std::int64_t>(worth, 1, pool.num_threads());
  const std::int64_t begin = reverse ? length - 1 : 0, step = reverse ? -1 : 1;
  parts::divided(pool, most, [=](std::int64_t part) {
    const std::int64_t first = rows * part / most, last = rows * (part + 1) / most;
    for (std::int64_t r = first; r < last; ++r) {
      row(x + r * length + begin, out + r * length + begin, length, step, operation);
    }
  });
}

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> out,
                         std::int64_t length, std::int64_t operation, bool reverse) {
  const auto elements = static_cast<std::int64_t>(x.element_count());
  if (length < 1 || elements % length != 0 || operation < kSum || operation > kMin ||
      elements != static_cast<std::int64_t>(out->element_count()) ||
      x.element_type() != out->element_type()) {
    return ffi::Error::InvalidArgument("a running sum of arrays of other sizes or dtypes");
  }
  switch (x.element_type()) {
    case ffi::F32:
      run(pool, static_cast<const float*>(x.untyped_data()),
          static_cast<float*>(out->untyped_data()), elements, length, operation, reverse);
      return ffi::Error::Success();
    case ffi::F64:
      run(pool, static_cast<const double*>(x.untyped_data()),
          static_cast<double*>(out->untyped_data()), elements, length, operation, reverse);
      return ffi::Error::Success();
    default:
      return ffi::Error::InvalidArgument("a running sum of another dtype");
  }
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::int64_t>("length")
                           .Attr<std::int64_t>("operation")
                           .Attr<bool>("reverse"));

// The same of an array, in eager mode, whose threads are ours.
nb::object along_rows(nb::handle x, std::int64_t length, std::int64_t operation, bool reverse) {
  if (!PyArray_Check(x.ptr())) throw nb::type_error("a running sum takes an array");
  const nb::object in_order = checked(PyArray_FROM_OF(x.ptr(), NPY_ARRAY_CARRAY_RO));
  auto* given = reinterpret_cast<PyArrayObject*>(in_order.ptr());
  const int type = PyArray_TYPE(given);
  const std::int64_t elements = PyArray_SIZE(given);
  if (type != NPY_FLOAT && type != NPY_DOUBLE)
    throw nb::type_error("a running sum of another dtype");
  if (length < 1 || elements % length != 0 || operation < kSum || operation > kMin)
    throw nb::value_error("a running sum of arrays of other sizes");
  const nb::object result =
      checked(PyArray_EMPTY(PyArray_NDIM(given), PyArray_DIMS(given), type, 0));
  const void* from = PyArray_DATA(given);
  void* to = PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.ptr()));
  const process_end::OthersRun others_run;
  if (type == NPY_FLOAT) {
    run(Workers::shared(), static_cast<const float*>(from), static_cast<float*>(to), elements,
        length, operation, reverse);
  } else {
    run(Workers::shared(), static_cast<const double*>(from), static_cast<double*>(to), elements,
        length, operation, reverse);
  }
  return result;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("along_rows", &along_rows, nb::arg("x"), nb::arg("length"), nb::arg("operation"),
             nb::arg("reverse"), "Running sums and their like of an array, along its last axis.");
  bind_handler(module, handler, "XLA's way to running sums, as a capsule.");
}

}  // namespace morphax::running
