// A function of LAPACK for each matrix of a stack, for `call_each` in
// `morphax/lax/linalg/lapack.py`, which says what the arguments are.  Its twin is the loop over
// single matrices in `matrix_stacks.py`.
//
// Fortran takes pointers only, so one loop serves all functions: what moves from matrix to matrix
// is a pointer and its step.  The first matrix is timed, and further threads help with the others
// where that takes long enough.
#include "lapack.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <cstring>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace morphax::lapack {

namespace {

constexpr std::size_t kMostArguments = 20;
constexpr std::size_t kMostThreads = 16;
// A thread that has less to do is not worth its start.
constexpr std::chrono::microseconds kWorthAThread{100};

using Pointers = std::array<char*, kMostArguments>;

template <std::size_t... i>
void apply(void* function, const Pointers& at, std::index_sequence<i...>) {
  reinterpret_cast<void (*)(std::enable_if_t<(i < kMostArguments), char*>...)>(function)(at[i]...);
}

template <std::size_t count>
void call_with(void* function, const Pointers& at) {
  apply(function, at, std::make_index_sequence<count>());
}

template <std::size_t... count>
constexpr auto callers_of(std::index_sequence<count...>) {
  return std::array{&call_with<count>...};
}

constexpr auto kCallers = callers_of(std::make_index_sequence<kMostArguments + 1>());

// A call, whose arguments for matrix i are at `first + i * step`; some are scratch memory.
struct Call {
  void* function = nullptr;
  std::size_t arguments = 0, matrices = 0;
  Pointers first{};
  std::array<std::ptrdiff_t, kMostArguments> step{};
  std::array<std::size_t, kMostArguments> scratch{};
  std::array<int, kMostArguments> numbers{};

  void read(std::size_t place, nb::handle argument);
};

void Call::read(std::size_t place, nb::handle argument) {
  if (PyLong_Check(argument.ptr())) {
    numbers[place] = nb::cast<int>(argument);
    first[place] = reinterpret_cast<char*>(&numbers[place]);
  } else if (PyUnicode_Check(argument.ptr())) {
    // A letter is the first byte of the text, which the caller keeps.
    first[place] = const_cast<char*>(nb::cast<const char*>(argument));
  } else if (PyTuple_Check(argument.ptr())) {
    scratch[place] = nb::cast<std::size_t>(argument[0]);
  } else if (PyArray_Check(argument.ptr())) {
    auto* array = reinterpret_cast<PyArrayObject*>(argument.ptr());
    first[place] = PyArray_BYTES(array);
    if (PyArray_NDIM(array) == 0) return;
    if (static_cast<std::size_t>(PyArray_DIM(array, 0)) != matrices) {
      throw nb::value_error("lapack: stacks of different sizes");
    }
    step[place] = PyArray_STRIDE(array, 0);
  } else {
    throw nb::type_error("lapack: an argument is a number, a letter, an array or scratch memory");
  }
}

// What one thread calls: the pointers that do not move are set once.
class Worker {
 public:
  explicit Worker(const Call& call) : call_(call), at_(call.first) {
    for (std::size_t place = 0; place < call.arguments; ++place) {
      if (call.scratch[place] == 0) continue;
      memory_.emplace_back(new char[call.scratch[place]]);
      at_[place] = memory_.back().get();
    }
  }

  void run(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t place = 0; place < call_.arguments; ++place) {
        if (call_.step[place] != 0) {
          at_[place] = call_.first[place] + static_cast<std::ptrdiff_t>(i) * call_.step[place];
        }
      }
      kCallers[call_.arguments](call_.function, at_);
    }
  }

  // Some matrices at a time, until none is left.
  void take(std::atomic<std::size_t>& next, std::size_t some) {
    for (;;) {
      const std::size_t begin = next.fetch_add(some);
      if (begin >= call_.matrices) return;
      run(begin, std::min(begin + some, call_.matrices));
    }
  }

 private:
  const Call& call_;
  Pointers at_;
  std::vector<std::unique_ptr<char[]>> memory_;
};

std::size_t threads_for(std::chrono::steady_clock::duration work) {
  const auto worth = static_cast<std::size_t>(work / kWorthAThread);
  if (worth < 2) return 1;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return std::min({worth, cores, kMostThreads});
}

void run(const Call& call) {
  Worker own(call);
  const auto start = std::chrono::steady_clock::now();
  own.run(0, 1);
  if (call.matrices == 1) return;
  const auto once = std::chrono::steady_clock::now() - start;
  const std::size_t rest = call.matrices - 1;
  const std::size_t threads = std::min(threads_for(once * rest), rest);
  if (threads == 1) return own.run(1, call.matrices);
  std::vector<std::unique_ptr<Worker>> helpers;
  for (std::size_t i = 1; i < threads; ++i) helpers.push_back(std::make_unique<Worker>(call));
  std::atomic<std::size_t> next{1};
  const std::size_t some = std::max<std::size_t>(1, rest / (8 * threads));
  std::vector<std::thread> running;
  try {
    for (auto& helper : helpers) {
      running.emplace_back([&next, some, &helper] { helper->take(next, some); });
    }
  } catch (const std::system_error&) {
    // The system grants no more threads: those that run do it.
  }
  own.take(next, some);
  for (std::thread& thread : running) thread.join();
}

// The function that a capsule of Cython holds, whose name is its declaration in C.
void* function_in(nb::handle capsule, std::size_t arguments) {
  const char* declaration = PyCapsule_GetName(capsule.ptr());
  if (declaration == nullptr) throw nb::python_error();
  const char* end = declaration + std::strlen(declaration);
  const auto taken = static_cast<std::size_t>(std::count(declaration, end, ',')) + 1;
  if (std::strncmp(declaration, "void (", 6) != 0 || taken != arguments) {
    throw nb::type_error("lapack: the function takes other arguments");
  }
  return PyCapsule_GetPointer(capsule.ptr(), declaration);
}

void call_each(nb::handle capsule, std::size_t matrices, nb::args arguments) {
  Call call;
  call.arguments = arguments.size(), call.matrices = matrices;
  if (call.arguments > kMostArguments) throw nb::value_error("lapack: too many arguments");
  call.function = function_in(capsule, call.arguments);
  for (std::size_t place = 0; place < call.arguments; ++place) call.read(place, arguments[place]);
  if (matrices == 0) return;
  const nb::gil_scoped_release others_run;
  run(call);
}

template <typename T>
void transpose(const char* from, const npy_intp* sizes, const npy_intp* steps, T* to) {
  for (npy_intp matrix = 0; matrix < sizes[0]; ++matrix) {
    for (npy_intp column = 0; column < sizes[2]; ++column) {
      const char* at = from + matrix * steps[0] + column * steps[2];
      for (npy_intp row = 0; row < sizes[1]; ++row, at += steps[1]) {
        *to++ = *reinterpret_cast<const T*>(at);
      }
    }
  }
}

// The transpose of each matrix of a stack, by rows.
nb::object by_columns(nb::handle given) {
  if (!PyArray_Check(given.ptr())) throw nb::type_error("lapack: by_columns takes an array");
  auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
  if (PyArray_NDIM(array) != 3) throw nb::value_error("lapack: by_columns takes a stack");
  const npy_intp* sizes = PyArray_DIMS(array);
  npy_intp turned[] = {sizes[0], sizes[2], sizes[1]};
  PyArray_Descr* dtype = PyArray_DESCR(array);
  Py_INCREF(dtype);
  nb::object found = nb::steal(PyArray_Empty(3, turned, dtype, 0));
  if (!found.is_valid()) throw nb::python_error();
  void* to = PyArray_DATA(reinterpret_cast<PyArrayObject*>(found.ptr()));
  const char* from = PyArray_BYTES(array);
  const npy_intp* steps = PyArray_STRIDES(array);
  switch (PyArray_ITEMSIZE(array)) {
    case 4:
      transpose(from, sizes, steps, static_cast<std::uint32_t*>(to));
      break;
    case 8:
      transpose(from, sizes, steps, static_cast<std::uint64_t*>(to));
      break;
    case 16:
      transpose(from, sizes, steps, static_cast<std::complex<double>*>(to));
      break;
    default:
      throw nb::type_error("lapack: by_columns takes numbers of 4, 8 or 16 bytes");
  }
  return found;
}

// For each row of `pivots` the order of `rows` rows after the exchanges of row i with row
// `pivots[i]`, which count from `first`.
nb::object permutations(nb::handle given, npy_intp rows, int first) {
  auto* pivots = reinterpret_cast<PyArrayObject*>(given.ptr());
  if (!PyArray_Check(given.ptr()) || PyArray_NDIM(pivots) != 2 ||
      PyArray_TYPE(pivots) != NPY_INT32 || !PyArray_IS_C_CONTIGUOUS(pivots) ||
      PyArray_DIM(pivots, 1) > rows) {
    throw nb::type_error("lapack: permutations takes int32 exchanges, by rows");
  }
  const npy_intp exchanges = PyArray_DIM(pivots, 1);
  npy_intp sizes[] = {PyArray_DIM(pivots, 0), rows};
  nb::object found = nb::steal(PyArray_SimpleNew(2, sizes, NPY_INT32));
  if (!found.is_valid()) throw nb::python_error();
  auto* to = static_cast<int*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(found.ptr())));
  const int* from = static_cast<const int*>(PyArray_DATA(pivots));
  for (npy_intp one = 0; one < sizes[0]; ++one, to += rows, from += exchanges) {
    std::iota(to, to + rows, 0);
    for (npy_intp i = 0; i < exchanges; ++i) {
      const npy_intp other = from[i] - first;
      if (other < 0 || other >= rows) throw nb::value_error("lapack: a row that does not exist");
      std::swap(to[i], to[other]);
    }
  }
  return found;
}

// Of each matrix of a stack by rows those rows that one row of `numbers` numbers.
nb::object rows_taken(nb::handle given, nb::handle numbers) {
  auto* stack = reinterpret_cast<PyArrayObject*>(given.ptr());
  auto* taken = reinterpret_cast<PyArrayObject*>(numbers.ptr());
  if (!PyArray_Check(given.ptr()) || PyArray_NDIM(stack) != 3 || !PyArray_IS_C_CONTIGUOUS(stack) ||
      !PyArray_Check(numbers.ptr()) || PyArray_NDIM(taken) != 2 ||
      PyArray_TYPE(taken) != NPY_INT32 || !PyArray_IS_C_CONTIGUOUS(taken) ||
      PyArray_DIM(taken, 0) != PyArray_DIM(stack, 0)) {
    throw nb::type_error("lapack: rows_taken takes a stack by rows, and int32 numbers by rows");
  }
  const npy_intp count = PyArray_DIM(stack, 0), rows = PyArray_DIM(stack, 1);
  npy_intp sizes[] = {count, PyArray_DIM(taken, 1), PyArray_DIM(stack, 2)};
  PyArray_Descr* dtype = PyArray_DESCR(stack);
  Py_INCREF(dtype);
  nb::object found = nb::steal(PyArray_Empty(3, sizes, dtype, 0));
  if (!found.is_valid()) throw nb::python_error();
  const auto width = static_cast<std::size_t>(sizes[2] * PyArray_ITEMSIZE(stack));
  char* to = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(found.ptr()));
  const char* from = PyArray_BYTES(stack);
  const auto* number = static_cast<const std::int32_t*>(PyArray_DATA(taken));
  for (npy_intp i = 0; i < count; ++i, from += static_cast<std::size_t>(rows) * width) {
    for (npy_intp j = 0; j < sizes[1]; ++j, ++number, to += width) {
      if (*number < 0 || *number >= rows) {
        throw nb::value_error("lapack: a row that does not exist");
      }
      std::memcpy(to, from + static_cast<std::size_t>(*number) * width, width);
    }
  }
  return found;
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  module.def("call_each", &call_each, nb::arg("function"), nb::arg("count"), nb::arg("arguments"));
  module.def("by_columns", &by_columns, nb::arg("stack"));
  module.def("rows_taken", &rows_taken, nb::arg("stack"), nb::arg("rows"));
  module.def("permutations", &permutations, nb::arg("pivots"), nb::arg("rows"), nb::arg("first"));
}

}  // namespace morphax::lapack
