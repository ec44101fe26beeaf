// How many threads the library has is one number for the process, so who wants one thread is
// counted, and the last one to go brings back the number that there was.
#include "library_threads.h"

#include <cstdint>
#include <mutex>

namespace nb = nanobind;

namespace morphax::library_threads {

namespace {

using Get = int (*)();
using Set = void (*)(int);

std::mutex guard;
Get threads = nullptr;
Set set_threads = nullptr;
int wanting = 0, before = 1;

void control(std::uintptr_t get, std::uintptr_t set) {
  const std::lock_guard<std::mutex> held(guard);
  threads = reinterpret_cast<Get>(get);
  set_threads = reinterpret_cast<Set>(set);
}

}  // namespace

Alone::Alone(bool wanted) : wanted_(wanted && threads != nullptr) {
  if (!wanted_) return;
  const std::lock_guard<std::mutex> held(guard);
  if (wanting++ > 0) return;
  before = threads();
  if (before > 1) set_threads(1);
}

Alone::~Alone() {
  if (!wanted_) return;
  const std::lock_guard<std::mutex> held(guard);
  if (--wanting > 0) return;
  if (before > 1) set_threads(before);
}

void bind(nb::module_& module) {
  module.def("control_library_threads", &control, nb::arg("get"), nb::arg("set"),
             "Tell the addresses of the functions of the library that get and set their number.");
}

}  // namespace morphax::library_threads
