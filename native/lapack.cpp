// Plans of what LAPACK does with each matrix of a stack, for `morphax/lax/linalg/lapack.py`.  Their
// twin is the loop over single matrices in `matrix_stacks.py`.
//
// All steps are taken for one matrix, then for the next.  The first matrix is timed, and threads of
// ours (`workers.h`) share the others where that takes long enough.
#include "lapack.h"

#include <nanobind/stl/vector.h>

#include "lapack_steps.h"
#include "library_threads.h"
#include "objects.h"
#include "process_end.h"
#include "workers.h"
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL morphax_lapack_array_api
#include <numpy/arrayobject.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace morphax::lapack {

namespace {

// A thread takes several parts, so that one that begins late holds up nobody for long.
constexpr std::int64_t kPartsOfThread = 4;
constexpr std::size_t kAlignment = 64;
// A thread that has less to do is not worth its start.
constexpr std::chrono::microseconds kWorthAThread{100};

// An array that a plan returns: which memory it is, its sizes and its dtype.
struct Result {
  std::size_t memory;
  std::vector<npy_intp> sizes;
  nb::object dtype;

  explicit Result(nb::handle described)
      : memory(nb::cast<std::size_t>(described[0])),
        sizes(nb::cast<std::vector<npy_intp>>(described[1])),
        dtype(nb::borrow(described[2])) {}

  nb::object array() const {
    auto* descr = reinterpret_cast<PyArray_Descr*>(nb::object(dtype).release().ptr());
    return checked(PyArray_Empty(static_cast<int>(sizes.size()),
                                 const_cast<npy_intp*>(sizes.data()), descr, 0));
  }
};

class Plan {
 public:
  // Of the memories, of so many bytes for each matrix, the first are those of the operands; those
  // that are no results are scratch memory.  If `alone`, the library does not share a matrix out,
  // and else among threads that find a processor.
  Plan(std::size_t matrices, std::vector<std::size_t> bytes, std::size_t operands,
       const nb::list& results, const nb::list& steps, bool single, bool alone)
      : matrices_(matrices),
        bytes_(std::move(bytes)),
        operands_(operands),
        single_(single),
        alone_(alone) {
    for (nb::handle result : results) results_.emplace_back(result);
    for (nb::handle step : steps) steps_.push_back(step_of(nb::cast<nb::tuple>(step)));
  }

  nb::object operator()(const nb::args& given) const {
    if (given.size() != operands_) throw nb::type_error("lapack: another number of operands");
    Places at(bytes_.size(), nullptr);
    std::vector<nb::object> operands;
    operands.reserve(operands_);
    for (std::size_t i = 0; i < operands_; ++i) {
      operands.push_back(in_rows(given[i], i));
      at[i] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(operands[i].ptr()));
    }
    nb::list found;
    for (const Result& result : results_) {
      nb::object array = result.array();
      at[result.memory] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(array.ptr()));
      found.append(std::move(array));
    }
    {
      const process_end::Call call;  // the library is taken down at the end of the process
      const process_end::OthersRun others_run;
      run(at);
    }
    return single_ ? nb::object(found[0]) : nb::object(std::move(found));
  }

 private:
  class Worker;

  nb::object in_rows(nb::handle given, std::size_t position) const {
    if (!PyArray_Check(given.ptr())) throw nb::type_error("lapack: a plan takes arrays");
    auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
    if (static_cast<std::size_t>(PyArray_NBYTES(array)) != matrices_ * bytes_[position]) {
      throw nb::value_error("lapack: an operand of another size");
    }
    if (PyArray_IS_C_CONTIGUOUS(array)) return nb::borrow(given);
    return checked(PyArray_NewCopy(array, NPY_CORDER));
  }

  void run(const Places& at) const;

  std::size_t matrices_;
  std::vector<std::size_t> bytes_;
  std::size_t operands_;
  bool single_, alone_;
  std::vector<Result> results_;
  std::vector<std::unique_ptr<Step>> steps_;
};

// What one thread works with: scratch memory of its own.
class Plan::Worker {
 public:
  Worker(const Plan& plan, const Places& first) : plan_(plan), first_(first), at_(first) {
    std::size_t total = kAlignment;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] == nullptr) total += padded(plan.bytes_[i]);
    }
    memory_.reset(new char[total]);
    auto next = (reinterpret_cast<std::uintptr_t>(memory_.get()) + kAlignment - 1) / kAlignment;
    auto* free = reinterpret_cast<char*>(next * kAlignment);
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] != nullptr) continue;
      at_[i] = free;
      free += padded(plan.bytes_[i]);
    }
  }

  void run(std::size_t begin, std::size_t end) {
    for (std::size_t matrix = begin; matrix < end; ++matrix) {
      for (std::size_t i = 0; i < at_.size(); ++i) {
        if (first_[i] != nullptr) at_[i] = first_[i] + matrix * plan_.bytes_[i];
      }
      for (const auto& step : plan_.steps_) step->run(at_);
    }
  }

 private:
  static std::size_t padded(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  const Plan& plan_;
  const Places& first_;
  Places at_;
  std::unique_ptr<char[]> memory_;
};

// In how many parts the other matrices are shared, if work of so long is to be worth a thread.
std::size_t parts_for(std::chrono::steady_clock::duration work, std::size_t matrices) {
  const auto worth = static_cast<std::int64_t>(work / kWorthAThread);
  if (worth < 2) return 1;
  // One that waits for a processor in the middle of a matrix is waited for.
  const std::int64_t running = 1 + std::max<std::int64_t>(0, free_processors());
  const std::int64_t threads = std::min({worth, running, Workers::num_threads()});
  if (threads < 2) return 1;
  return std::min(matrices, static_cast<std::size_t>(kPartsOfThread * threads));
}

void Plan::run(const Places& at) const {
  const library_threads::Limit limit(alone_);
  Worker own(*this, at);
  const auto start = std::chrono::steady_clock::now();
  own.run(0, 1);
  if (matrices_ == 1) return;
  const auto once = std::chrono::steady_clock::now() - start;
  const std::size_t rest = matrices_ - 1, count = parts_for(once * rest, rest);
  if (count == 1) return own.run(1, matrices_);
  parts::divided(Workers::shared(), static_cast<std::int64_t>(count), [&](std::int64_t number) {
    const auto part = static_cast<std::size_t>(number);
    Worker(*this, at).run(1 + rest * part / count, 1 + rest * (part + 1) / count);
  });
}

// The function of arrays that takes the steps.
nb::object plan(std::size_t matrices, std::vector<std::size_t> bytes, std::size_t operands,
                const nb::list& results, const nb::list& steps, bool single, bool alone) {
  auto planned =
      std::make_shared<Plan>(matrices, std::move(bytes), operands, results, steps, single, alone);
  return nb::cpp_function([planned](const nb::args& given) { return (*planned)(given); });
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  module.def("plan", &plan, nb::arg("matrices"), nb::arg("bytes"), nb::arg("operands"),
             nb::arg("results"), nb::arg("steps"), nb::arg("single"), nb::arg("alone"));
  library_threads::bind(module);
}

}  // namespace morphax::lapack
