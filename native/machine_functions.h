// Functions of machine code, which the native engine makes, as functions of arrays.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <vector>

#include "objects.h"

namespace morphax::machine_functions {

// What a function is told of one operand or result.
struct Declared {
  nb::object dtype;
  std::vector<Py_intptr_t> shape;
  std::size_t bytes;

  explicit Declared(nb::handle given);
};

// How long a run must have taken for the next one to let other threads of Python work meanwhile.
inline constexpr double kWorthUnlocking = 20e-6;
// How long it must have taken for Ctrl-C to be worth another thread.
inline constexpr double kWorthLeaving = 1e-3;

// Pointers to the elements of operands and results, and to memory.
using Run = void (*)(const void* const*, void* const*, void*);

// Steps of a loop, from the first to before the last, which any thread may make.
using Steps = void (*)(void* context, std::int64_t first, std::int64_t last);

// Has all of 0 … count - 1 made, in pieces, by this thread and others; each piece by one of them.
// Machine code calls it, which no exception may pass.
void share_steps(Steps steps, void* context, std::int64_t count) noexcept;
// What a run calls Python with: a pointer behind those to the operands.  Machine code knows the
// first member, which it calls with this, the number of a function and where its arrays lie; what
// is not 0 ends the run.
struct Calls {
  int (*call)(Calls*, std::int32_t, void* const*);
  nb::handle entry;
  // Of the thread that runs, where it has given up the interpreter's lock.
  PyThreadState* state = nullptr;
  std::exception_ptr failure;
};

class MachineFunction {
 public:
  // The owner keeps the code; results lie in memory of the pool, a `HostMemory`; the entry makes
  // calls of Python, and is None if there are none.
  MachineFunction(nb::object owner, std::uintptr_t address, std::size_t scratch_bytes,
                  nb::object pool, nb::sequence operands, nb::sequence results, bool has_loops,
                  bool is_unbounded, nb::object entry);

  const std::vector<Declared>& operands() const { return operands_; }

  // Appends the results for operands whose elements lie at these addresses, in NumPy arrays.
  void call(const void* const* operands, References& results) const;

  // The results for NumPy arrays of the declared dtypes and shapes.
  nb::object call_on_arrays(nb::sequence operands) const;

  // Whether Ctrl-C may have to wait for the next run.
  bool may_take_long() const {
    return last_seconds_.load(std::memory_order_relaxed) > kWorthLeaving;
  }

  // Has code of the same function made, before the first run after runs have taken so many seconds
  // in all: `make` gives its owner and its address, or None.
  void improve_after(double seconds, nb::object make);

  int traverse(visitproc visit, void* arg) const;

 private:
  void improve() const;

  // Runs the code; how long that took, in seconds.
  double run(const void* const* operands, void* const* results, bool unlocks) const;

  // What was run before stays as well: another thread may still run it.
  mutable nb::object owner_;
  nb::object pool_, entry_;
  mutable std::atomic<Run> run_;
  // Makes better code; none where there is none to be made.
  mutable nb::object make_ = nb::none();
  mutable double worth_ = 0;
  // How long runs may take until then.
  mutable std::atomic<double> seconds_left_;
  std::size_t scratch_bytes_;
  std::vector<Declared> operands_, results_;
  mutable std::atomic<double> last_seconds_;
  // Whether numbers decide how long a run takes.
  bool is_unbounded_;
};

// A function of Python's as one of these; null if it is none.
MachineFunction* machine_function(nb::handle object);

// An operand as an array whose elements lie row by row at an address that its dtype allows.
nb::object in_order(nb::handle array, const Declared& declared);

// The address of the elements of such an array.
const void* elements(nb::handle array);

// Whether it is such an array of NumPy, whatever its dtype and shape.
bool is_in_order(PyObject* object);

// Whether it is a NumPy array or a number.
bool is_plain(PyObject* object);

// Such a one as an array of the declared dtype.
nb::object converted(PyObject* object, const Declared& declared);

void bind(nb::module_& module);

}  // namespace morphax::machine_functions
