// Work divided into parts, which threads of a pool take: XLA's (`ffi::ThreadPool`), or ours
// (`Workers`).
//
// The caller takes parts too, and waits for those only that others have begun, so no thread waits
// for one that has not started.  What a part throws is thrown to the caller, once nobody computes
// any more: parts refer to what the caller holds.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace morphax::parts {

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
  std::int64_t done_ = 0;
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
