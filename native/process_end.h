// Threads of the user while the interpreter ends.
//
// Before 3.14, Python ends a thread that asks for its lock then: it unwinds the thread's stack,
// which C++ takes for a failure that ends the process with an abort.  So a thread that computes
// waits here, without the lock, until the process is gone; and the interpreter waits a little at
// its end for calls that are under way, for those of jaxlib ask for the lock themselves.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <thread>

// Found without a call of the loader, as each thread has it from its start.
#if defined(__ELF__)
#define MORPHAX_NEAR __attribute__((tls_model("initial-exec")))
#else
#define MORPHAX_NEAR
#endif

namespace morphax::process_end {

inline std::atomic<bool> has_begun{false};
inline std::thread::id ending_thread;
// Calls under way in all threads, and those within each other in this one.
inline std::atomic<int> num_calls{0};
MORPHAX_NEAR inline thread_local int depth = 0;

// Whether the interpreter ends, in another thread.
inline bool is_late() noexcept {
  return has_begun.load(std::memory_order_acquire) && std::this_thread::get_id() != ending_thread;
}

// Without Python's lock; nobody waits for this thread any more.
[[noreturn]] void wait_for_it() noexcept;

// A call that the end waits for; made and destroyed with Python's lock.
class Call {
 public:
  Call() noexcept {
    if (depth == 0) {
      stay_if_late();
      num_calls.fetch_add(1, std::memory_order_relaxed);
    }
    ++depth;
  }
  ~Call() {
    if (--depth > 0) return;
    num_calls.fetch_sub(1, std::memory_order_relaxed);
    stay_if_late();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  static void stay_if_late() noexcept {
    if (!is_late()) return;
    PyEval_SaveThread();
    wait_for_it();
  }
};

// Takes Python's lock again.
inline void take_lock(PyThreadState* state) noexcept {
  if (is_late()) wait_for_it();
  PyEval_RestoreThread(state);
}

// Other threads have Python's lock meanwhile.
class OthersRun {
 public:
  OthersRun() noexcept : state_(PyEval_SaveThread()) {}
  ~OthersRun() { take_lock(state_); }
  OthersRun(const OthersRun&) = delete;
  OthersRun& operator=(const OthersRun&) = delete;

 private:
  PyThreadState* state_;
};

void bind(nanobind::module_& module);

}  // namespace morphax::process_end
