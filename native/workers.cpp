#include "workers.h"

#ifndef _WIN32
#include <pthread.h>
#endif
#ifdef __linux__
#include <unistd.h>
#endif

#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "freed_memory.h"

namespace morphax {

namespace {

// Never destroyed: threads may use them while the process ends.
std::atomic<Workers*> current{nullptr};

}  // namespace

void Workers::forget() noexcept {
  current.store(nullptr);
  awake_ = 0;
}

Workers& Workers::shared() noexcept {
  Workers* workers = current.load();
  if (workers != nullptr) return *workers;
  auto made = std::make_unique<Workers>();
  if (current.compare_exchange_strong(workers, made.get())) return *made.release();
  return *workers;
}

void Workers::Schedule(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    const auto waiting = static_cast<std::int64_t>(tasks_.size());
    if (idle_ <= waiting && started_ < num_threads() - 1) {
      if (start_quiet_thread([this] { serve(); })) ++started_;
    }
    if (started_ == 0) return;
    tasks_.push_back(std::move(task));
    ++waiting_;
  }
  is_work_.notify_one();
}

void Workers::serve() noexcept {
  ++awake_;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    // One operation follows another: who stays awake meanwhile takes part from the start.
    lock.unlock();
    parts::spin_until([this] { return waiting_.load(std::memory_order_relaxed) > 0; });
    lock.lock();
    --awake_;
    is_work_.wait(lock, [this] { return !tasks_.empty(); });
    ++awake_;
    --idle_;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    --waiting_;
    lock.unlock();
    task();
    lock.lock();
  }
}

namespace {

std::int64_t free_processors_now() noexcept {
#ifdef __linux__
  long running = 0;
  std::FILE* file = std::fopen("/proc/loadavg", "re");
  if (file == nullptr) return Workers::num_threads();
  if (std::fscanf(file, "%*f %*f %*f %ld/", &running) != 1) running = 1;
  std::fclose(file);
  return sysconf(_SC_NPROCESSORS_ONLN) - running + Workers::awake();
#else
  return Workers::num_threads();
#endif
}

}  // namespace

std::int64_t free_processors() noexcept {
  using Clock = std::chrono::steady_clock;
  // To ask the system takes 5 to 10 µs; programs of others run for longer than an answer is kept.
  constexpr Clock::duration kKept = std::chrono::milliseconds(2);
  static std::atomic<std::int64_t> free{0};
  static std::atomic<Clock::rep> until{std::numeric_limits<Clock::rep>::min()};
  const Clock::duration now = Clock::now().time_since_epoch();
  if (now.count() >= until.load(std::memory_order_acquire)) {
    free.store(free_processors_now(), std::memory_order_relaxed);
    until.store((now + kKept).count(), std::memory_order_release);
  }
  return free.load(std::memory_order_relaxed);
}

namespace workers {

namespace nb = nanobind;

void bind(nb::module_& module) {
#ifndef _WIN32
  pthread_atfork(nullptr, nullptr, &Workers::forget);
#endif
  module.attr("worth_sharing") = kWorthSharing;
  module.def("num_threads", &Workers::num_threads, "How many threads share an operation.");
  module.def("set_num_threads", &Workers::set_num_threads, nb::arg("wanted"),
             "Let so many threads share an operation; 1 divides nothing.");
}

}  // namespace workers

}  // namespace morphax
