// Loops of other people's functions, called from compiled programs and eagerly; the twin is
// `morphax/control/foreign/loops.py`.
//
// A loop is a function in the form that NumPy gives the inner loops of its ufuncs: pointers to
// operands and results, the number of steps (and sizes that the function asks for), and how many
// bytes each pointer moves at a step.  Loops are known by number, not by address, so that a program
// that is kept on disk means the same function in each process, or none.
#include "foreign.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "process_end.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace morphax::foreign {

namespace {

constexpr std::size_t kMostArrays = 32;
constexpr std::size_t kMostSizes = 32;

using Step = std::intptr_t;
using StatusLoop = std::int64_t (*)(char**, const Step*, const Step*, void*);
using PlainLoop = void (*)(char**, const Step*, const Step*, void*);

struct Loop {
  void* function = nullptr;
  void* data = nullptr;
  std::size_t arrays = 0;
  bool has_status = false;

  std::int64_t run(char** at, const Step* sizes, const Step* steps) const {
    if (has_status) return reinterpret_cast<StatusLoop>(function)(at, sizes, steps, data);
    reinterpret_cast<PlainLoop>(function)(at, sizes, steps, data);
    return 0;
  }
};

// All loops of the process; they are never removed, for a compiled program may call them any time.
class Loops {
 public:
  void add(std::int64_t number, const Loop& loop) {
    const std::unique_lock lock(mutex_);
    // One number is one function: the first stays, which others may be calling.
    loops_.emplace(number, loop);
  }

  // Pointers to elements stay valid when others are added.
  const Loop* find(std::int64_t number) {
    const std::shared_lock lock(mutex_);
    const auto found = loops_.find(number);
    return found == loops_.end() ? nullptr : &found->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::int64_t, Loop> loops_;
};

Loops& loops() {
  static Loops* const all = new Loops;
  return *all;
}

ffi::Error call_from_xla(ffi::RemainingArgs operands, ffi::RemainingRets results,
                         std::int64_t number, ffi::Span<const std::int64_t> sizes,
                         ffi::Span<const std::int64_t> steps) {
  const Loop* loop = loops().find(number);
  if (loop == nullptr) {
    return ffi::Error(ffi::ErrorCode::kNotFound,
                      "a foreign function of this program is not known in this process: "
                      "call morphax.ffi.from_c as the process did that compiled it");
  }
  const std::size_t arrays = operands.size() + results.size();
  if (arrays != loop->arrays || arrays != steps.size() || sizes.size() > kMostSizes) {
    return ffi::Error::InvalidArgument("a foreign function is called with other arrays");
  }
  std::array<char*, kMostArrays> at;
  std::array<Step, kMostArrays> moves;
  std::array<Step, kMostSizes> extents;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    at[i] = static_cast<char*>(operands.get<ffi::AnyBuffer>(i)->untyped_data());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    at[operands.size() + i] = static_cast<char*>((*results.get<ffi::AnyBuffer>(i))->untyped_data());
  }
  for (std::size_t i = 0; i < arrays; ++i) moves[i] = static_cast<Step>(steps[i]);
  for (std::size_t i = 0; i < sizes.size(); ++i) extents[i] = static_cast<Step>(sizes[i]);
  const std::int64_t status = loop->run(at.data(), extents.data(), moves.data());
  if (status == 0) return ffi::Error::Success();
  return ffi::Error::Internal("a foreign function has returned the error code " +
                              std::to_string(status));
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .RemainingArgs()
                           .RemainingRets()
                           .Attr<std::int64_t>("loop")
                           .Attr<ffi::Span<const std::int64_t>>("sizes")
                           .Attr<ffi::Span<const std::int64_t>>("steps"));

std::size_t read_steps(nb::handle given, Step* steps, std::size_t most) {
  if (!PyTuple_Check(given.ptr())) throw nb::type_error("foreign: sizes and steps are tuples");
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(given.ptr()));
  if (count > most) throw nb::value_error("foreign: too many arrays or sizes");
  for (std::size_t i = 0; i < count; ++i) {
    steps[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(given.ptr(), static_cast<Py_ssize_t>(i)));
  }
  if (PyErr_Occurred()) throw nb::python_error();
  return count;
}

// The status of a loop over NumPy arrays: operands, then results.
std::int64_t run(std::int64_t number, nb::handle arrays, nb::handle sizes, nb::handle steps) {
  const Loop* loop = loops().find(number);
  if (loop == nullptr) throw nb::key_error("foreign: no such loop");
  std::array<char*, kMostArrays> at;
  std::array<Step, kMostArrays> moves;
  std::array<Step, kMostSizes> extents;
  read_steps(sizes, extents.data(), kMostSizes);
  const std::size_t count = read_steps(steps, moves.data(), kMostArrays);
  if (!PyList_Check(arrays.ptr())) throw nb::type_error("foreign: arrays are a list");
  if (static_cast<std::size_t>(PyList_GET_SIZE(arrays.ptr())) != count || count != loop->arrays) {
    throw nb::value_error("foreign: another number of arrays");
  }
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* array = PyList_GET_ITEM(arrays.ptr(), static_cast<Py_ssize_t>(i));
    if (!PyArray_Check(array)) throw nb::type_error("foreign: not an array");
    at[i] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array));
  }
  const process_end::OthersRun others_run;
  return loop->run(at.data(), extents.data(), moves.data());
}

// Addresses of the inner loops of a ufunc and of their data, in the order of `ufunc.types`.
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> loops_of(nb::handle given) {
  if (!nb::isinstance(given, nb::module_::import_("numpy").attr("ufunc"))) {
    throw nb::type_error("foreign: not a ufunc");
  }
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(given.ptr());
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
  for (int i = 0; i < ufunc->ntypes; ++i) {
    void* data = ufunc->data == nullptr ? nullptr : const_cast<void*>(ufunc->data[i]);
    found.emplace_back(reinterpret_cast<std::uintptr_t>(ufunc->functions[i]),
                       reinterpret_cast<std::uintptr_t>(data));
  }
  return found;
}

void add(std::int64_t number, std::uintptr_t function, std::uintptr_t data, std::size_t arrays,
         bool has_status) {
  if (function == 0 || arrays > kMostArrays) throw nb::value_error("foreign: no such loop");
  loops().add(number, Loop{reinterpret_cast<void*>(function), reinterpret_cast<void*>(data), arrays,
                           has_status});
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  module.def("add", &add, nb::arg("number"), nb::arg("function"), nb::arg("data"),
             nb::arg("arrays"), nb::arg("has_status"));
  module.def("run", &run, nb::arg("number"), nb::arg("arrays"), nb::arg("sizes"), nb::arg("steps"));
  module.def("loops_of", &loops_of, nb::arg("ufunc"));
  bind_handler(module, handler, "XLA's way to the loops, as a capsule.");
}

}  // namespace morphax::foreign
