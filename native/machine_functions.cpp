#include "machine_functions.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "host_memory.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::machine_functions {

namespace {

constexpr std::size_t kAlignment = 64;
// Up to so much scratch memory stays with each thread that has called a function.
constexpr std::size_t kMostKept = std::size_t{256} << 10;
constexpr std::size_t kInline = 24;
// Into so many pieces steps are divided for each thread: they end at different times.
constexpr std::int64_t kPiecesOfThread = 8;

// Our threads, as many as processors are free: a piece that waits for one makes all wait.
class FreeWorkers {
 public:
  std::int64_t num_threads() const noexcept { return threads_; }
  void Schedule(std::function<void()> task) { Workers::shared().Schedule(std::move(task)); }

 private:
  static std::int64_t wanted() noexcept {
    const std::int64_t threads = Workers::num_threads();
    return threads < 2 ? 1 : std::min(threads, 1 + free_processors());
  }
  std::int64_t threads_ = wanted();
};

// A row of pointers, which needs no memory from the heap if it is short.
template <typename T>
class Pointers {
 public:
  explicit Pointers(std::size_t size) {
    if (size > kInline) heap_.reset(new T[size]);
  }
  T* data() { return heap_ ? heap_.get() : inline_; }

 private:
  T inline_[kInline];
  std::unique_ptr<T[]> heap_;
};

struct Free {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{kAlignment});
  }
};
using Memory = std::unique_ptr<std::byte[], Free>;

Memory new_memory(std::size_t bytes) {
  void* memory = ::operator new[](bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) {
    PyErr_NoMemory();
    throw nb::python_error();
  }
  return Memory(static_cast<std::byte*>(memory));
}

// The scratch memory of one run; small blocks stay with the thread, and large ones come from the
// pool of the results, for new memory takes as long as a pass through it.  A run that calls Python
// has its own, for Python may run the next one.
class Scratch {
 public:
  Scratch(std::size_t bytes, bool calls, nb::handle pool) {
    if (bytes > kMostKept) {
      const auto size = static_cast<Py_intptr_t>(bytes);
      auto* dtype = reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_UINT8));
      pooled_ = new_array_in(pool, 1, &size, nb::steal(dtype));
    } else if (calls && bytes > 0) {
      own_ = new_memory(bytes);
    } else if (bytes > kept_bytes_) {
      kept_ = new_memory(bytes);
      kept_bytes_ = bytes;
    }
  }
  void* data() const {
    if (pooled_.is_valid()) return PyArray_DATA(reinterpret_cast<PyArrayObject*>(pooled_.ptr()));
    return own_ ? own_.get() : kept_.get();
  }

 private:
  static thread_local Memory kept_;
  static thread_local std::size_t kept_bytes_;

  Memory own_;
  nb::object pooled_;
};

thread_local Memory Scratch::kept_;
thread_local std::size_t Scratch::kept_bytes_ = 0;

PyArrayObject* as_array(nb::handle array) { return reinterpret_cast<PyArrayObject*>(array.ptr()); }

PyArray_Descr* descr_of(const Declared& declared) {
  Py_INCREF(declared.dtype.ptr());
  return reinterpret_cast<PyArray_Descr*>(declared.dtype.ptr());
}

// Calls Python for machine code, which no exception may pass: it is kept, and ends the run.
int call_python(Calls* calls, std::int32_t number, void* const* memory) {
  if (calls->state != nullptr) process_end::take_lock(calls->state);
  try {
    call(calls->entry, nb::int_(number), nb::int_(reinterpret_cast<std::uintptr_t>(memory)));
  } catch (...) {
    calls->failure = std::current_exception();
  }
  if (calls->state != nullptr) calls->state = PyEval_SaveThread();
  return calls->failure != nullptr;
}

constexpr double kForEver = std::numeric_limits<double>::infinity();

PyTypeObject* function_type = nullptr;

}  // namespace

Declared::Declared(nb::handle given) : dtype(given[0]) {
  bytes =
      static_cast<std::size_t>(PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(dtype.ptr())));
  for (nb::handle size : nb::object(given[1])) {
    shape.push_back(nb::cast<Py_intptr_t>(size));
    bytes *= static_cast<std::size_t>(shape.back());
  }
}

MachineFunction::MachineFunction(nb::object owner, std::uintptr_t address,
                                 std::size_t scratch_bytes, nb::object pool, nb::sequence operands,
                                 nb::sequence results, bool has_loops, bool is_unbounded,
                                 nb::object entry)
    : owner_(std::move(owner)),
      pool_(std::move(pool)),
      entry_(std::move(entry)),
      run_(reinterpret_cast<Run>(address)),
      seconds_left_(kForEver),
      scratch_bytes_(scratch_bytes),
      last_seconds_(has_loops ? 1.0 : 0.0),
      is_unbounded_(is_unbounded) {
  for (nb::handle operand : operands) operands_.emplace_back(operand);
  for (nb::handle result : results) results_.emplace_back(result);
}

void MachineFunction::call(const void* const* operands, References& results) const {
  if (seconds_left_.load(std::memory_order_relaxed) < 0) improve();
  Pointers<void*> places(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const Declared& result = results_[i];
    results.push(new_array_in(pool_, static_cast<int>(result.shape.size()), result.shape.data(),
                              result.dtype));
    places.data()[i] = PyArray_DATA(as_array(results[results.size() - 1]));
  }
  const bool unlocks =
      is_unbounded_ || last_seconds_.load(std::memory_order_relaxed) > kWorthUnlocking;
  const double taken = run(operands, places.data(), unlocks);
  last_seconds_.store(taken, std::memory_order_relaxed);
  seconds_left_.store(seconds_left_.load(std::memory_order_relaxed) - taken,
                      std::memory_order_relaxed);
}

void MachineFunction::improve_after(double seconds, nb::object make) {
  make_ = std::move(make);
  worth_ = seconds;
  seconds_left_.store(seconds);
}

void MachineFunction::improve() const {
  // Threads that come here meanwhile, and what Python does meanwhile, run the code that there is.
  seconds_left_.store(kForEver);
  const nb::object make = std::exchange(make_, nb::none());
  if (make.is_none()) return;
  try {
    const nb::object found = morphax::call(make);
    if (found.is_none()) return;
    owner_ = nb::make_tuple(owner_, found[0]);
    run_.store(reinterpret_cast<Run>(nb::cast<std::uintptr_t>(found[1])));
  } catch (const nb::python_error&) {
    // Somebody has interrupted it: a later run tries again.
    make_ = make;
    seconds_left_.store(worth_);
    throw;
  }
}

double MachineFunction::run(const void* const* operands, void* const* results, bool unlocks) const {
  const bool calls_python = !entry_.is_none();
  const Scratch scratch(scratch_bytes_, calls_python, pool_);
  Calls calls{call_python, entry_};
  Pointers<const void*> given(operands_.size() + 1);
  if (calls_python) {
    std::copy_n(operands, operands_.size(), given.data());
    given.data()[operands_.size()] = &calls;
    operands = given.data();
  }
  const Run code = run_.load(std::memory_order_relaxed);
  if (unlocks) calls.state = PyEval_SaveThread();
  const auto start = std::chrono::steady_clock::now();
  code(operands, results, scratch.data());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (unlocks) process_end::take_lock(calls.state);
  if (calls.failure != nullptr) std::rethrow_exception(calls.failure);
  return taken.count();
}

nb::object MachineFunction::call_on_arrays(nb::sequence operands) const {
  if (nb::len(operands) != operands_.size()) {
    PyErr_SetString(PyExc_TypeError, "a function of machine code with another number of operands");
    throw nb::python_error();
  }
  References held, results;
  Pointers<const void*> places(operands_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    held.push(in_order(operands[i], operands_[i]));
    places.data()[i] = elements(held[i]);
  }
  call(places.data(), results);
  return results.into_list();
}

int MachineFunction::traverse(visitproc visit, void* arg) const {
  Py_VISIT(owner_.ptr());
  Py_VISIT(make_.ptr());
  Py_VISIT(pool_.ptr());
  Py_VISIT(entry_.ptr());
  return 0;
}

MachineFunction* machine_function(nb::handle object) {
  if (Py_TYPE(object.ptr()) != function_type) return nullptr;
  return nb::inst_ptr<MachineFunction>(object);
}

bool is_in_order(PyObject* object) {
  return PyArray_CheckExact(object) &&
         PyArray_ISCARRAY_RO(reinterpret_cast<PyArrayObject*>(object));
}

bool is_plain(PyObject* object) { return PyArray_Check(object) || PyArray_CheckAnyScalar(object); }

const void* elements(nb::handle array) { return PyArray_DATA(as_array(array)); }

nb::object in_order(nb::handle array, const Declared& declared) {
  nb::object found = is_in_order(array.ptr())
                         ? nb::borrow(array)
                         : checked(PyArray_FROM_OF(array.ptr(), NPY_ARRAY_CARRAY_RO));
  if (static_cast<std::size_t>(PyArray_NBYTES(as_array(found))) != declared.bytes) {
    PyErr_SetString(PyExc_ValueError, "a function of machine code on arrays of another size");
    throw nb::python_error();
  }
  return found;
}

nb::object converted(PyObject* object, const Declared& declared) {
  const int wanted = NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST;
  return in_order(checked(PyArray_FromAny(object, descr_of(declared), 0, 0, wanted, nullptr)),
                  declared);
}

namespace {

int traverse_function(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<MachineFunction>(self)->traverse(visit, arg) : 0;
}

PyType_Slot function_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_function)},
    {0, nullptr},
};

}  // namespace

void share_steps(Steps steps, void* context, std::int64_t count) noexcept {
  FreeWorkers pool;
  if (pool.num_threads() < 2 || count < 2) return steps(context, 0, count);
  // All treat floats as the thread does that asks: its rounding, and its subnormals.
  std::fenv_t asked;
  std::fegetenv(&asked);
  const std::int64_t pieces = std::min(count, kPiecesOfThread * pool.num_threads());
  try {
    parts::divided(pool, pieces, [&](std::int64_t piece) {
      std::fenv_t own;
      std::fegetenv(&own);
      std::fesetenv(&asked);
      steps(context, count * piece / pieces, count * (piece + 1) / pieces);
      std::fesetenv(&own);
    });
  } catch (const std::bad_alloc&) {
    // There was no memory to divide them: no step has been made.
    steps(context, 0, count);
  }
}

void bind(nb::module_& module) {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
  const auto cls =
      nb::class_<MachineFunction>(module, "MachineFunction", nb::type_slots(function_slots),
                                  "A function of machine code as a function of arrays.")
          .def(nb::init<nb::object, std::uintptr_t, std::size_t, nb::object, nb::sequence,
                        nb::sequence, bool, bool, nb::object>(),
               nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg() = nb::none())
          .def("__call__", &MachineFunction::call_on_arrays)
          .def("may_take_long", &MachineFunction::may_take_long)
          .def("improve_after", &MachineFunction::improve_after);
  function_type = kept_type(cls);
  module.attr("share_steps") = reinterpret_cast<std::uintptr_t>(&share_steps);
}

}  // namespace morphax::machine_functions
