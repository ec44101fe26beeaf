#include "process_end.h"

#include <chrono>

#include "objects.h"

namespace morphax::process_end {

namespace {

constexpr auto kPause = std::chrono::microseconds(200);

// The interpreter is about to end: waits for calls of other threads, at most for so long.
void begin(double patience) {
  ending_thread = std::this_thread::get_id();
  has_begun.store(true, std::memory_order_release);
  const int own = depth > 0 ? 1 : 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  const OthersRun others_run;
  while (num_calls.load(std::memory_order_relaxed) > own &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kPause);
  }
}

// In a child that was forked there are no other threads.
void forget_threads() { num_calls.store(depth > 0 ? 1 : 0); }

// Calls a function of jaxlib, as one that the end waits for.
nb::object awaited(nb::handle function, nb::args arguments) {
  const Call call;
  return checked(PyObject_CallObject(function.ptr(), arguments.ptr()));
}

}  // namespace

void wait_for_it() noexcept {
  if (depth > 0) num_calls.fetch_sub(1, std::memory_order_relaxed);
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void bind(nanobind::module_& module) {
  module.def("begin", &begin);
  module.def("forget_threads", &forget_threads);
  module.def("awaited", &awaited);
}

}  // namespace morphax::process_end
