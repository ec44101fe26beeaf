// How many threads the library has is one number for the process, so who wants fewer is counted:
// the first one says how many, and the last one to go brings back the number that there was.
#include "library_threads.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "workers.h"

namespace nb = nanobind;

namespace morphax::library_threads {

namespace {

using Get = int (*)();
using Set = void (*)(int);

std::mutex guard;
Get threads = nullptr;
Set set_threads = nullptr;
int wanting = 0, before = 1;

// The library's threads look for work for some 20 ms (2^26 ticks of the clock) before they sleep.
using Clock = std::chrono::steady_clock;
constexpr Clock::duration kAwake = std::chrono::milliseconds(20);
Clock::time_point awake_until{};
int limit = 1, awake = 0;

void control(std::uintptr_t get, std::uintptr_t set) {
  const std::lock_guard<std::mutex> held(guard);
  threads = reinterpret_cast<Get>(get);
  set_threads = reinterpret_cast<Set>(set);
}

}  // namespace

Limit::Limit(bool alone) {
  if (threads == nullptr) return;
  const std::int64_t free = alone ? 0 : free_processors();
  const std::lock_guard<std::mutex> held(guard);
  const std::int64_t ours = !alone && Clock::now() < awake_until ? awake : 0;
  const auto most = static_cast<int>(1 + std::max<std::int64_t>(0, free + ours));
  if (wanting == 0) {
    before = threads_ = threads();
    if (before <= most) return;
    set_threads(limit = most);
  }
  threads_ = limit;
  limits_ = true;
  ++wanting;
}

Limit::~Limit() {
  if (threads == nullptr) return;
  const std::lock_guard<std::mutex> held(guard);
  if (threads_ > 1) {
    awake = threads_ - 1;
    awake_until = Clock::now() + kAwake;
  }
  if (limits_ && --wanting == 0) set_threads(before);
}

void bind(nb::module_& module) {
  module.def("control_library_threads", &control, nb::arg("get"), nb::arg("set"),
             "Tell the addresses of the functions of the library that get and set their number.");
}

}  // namespace morphax::library_threads
