// Work divided into parts, which threads of a pool take: XLA's (`ffi::ThreadPool`), or ours
// (`Workers`).
//
// The caller takes parts too, and waits for those only that others have begun, so no thread waits
// for one that has not started.  What a part throws is thrown to the caller, once nobody computes
// any more: parts refer to what the caller holds.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace morphax::parts {

// Asks again and again whether something is so, for as long as it takes to wake a thread.
template <typename Condition>
void spin_until(Condition is_so) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr auto kAtMost = std::chrono::microseconds(30);
  // To read the clock takes as long as to ask so often.
  constexpr int kAskedAtOnce = 16;
  const Clock::time_point end = Clock::now() + kAtMost;
  do {
    for (int i = 0; i < kAskedAtOnce; ++i) {
      if (is_so()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (Clock::now() < end);
}

// Parts of a computation, each done by whoever comes first.
class Parts {
 public:
  Parts(std::int64_t count, std::function<void(std::int64_t)> body)
      : count_(count), body_(std::move(body)) {}

  void work() noexcept {
    for (std::int64_t part; (part = next_++) < count_;) {
      std::exception_ptr failure;
      try {
        body_(part);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (failure_ == nullptr) failure_ = std::move(failure);
      if (++done_ == count_) all_done_.notify_all();
    }
  }

  void wait() {
    // What others have begun ends as soon as what this thread did, and to sleep takes longer.
    spin_until([this] { return done_.load(std::memory_order_relaxed) == count_; });
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return done_ == count_; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::int64_t count_;
  std::function<void(std::int64_t)> body_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::atomic<std::int64_t> done_{0};
  std::exception_ptr failure_;
};

template <typename Pool>
void divided(Pool& pool, std::int64_t count, std::function<void(std::int64_t)> body) {
  // Who starts when all is done finds nothing to do, perhaps after this call has ended.
  const auto parts = std::make_shared<Parts>(count, std::move(body));
  const std::int64_t helpers = std::min<std::int64_t>(count, pool.num_threads()) - 1;
  try {
    for (std::int64_t i = 0; i < helpers; ++i) pool.Schedule([parts] { parts->work(); });
  } catch (const std::bad_alloc&) {
    // Those who were asked do all of it, or the caller does.
  }
  parts->work();
  parts->wait();
}

}  // namespace morphax::parts
