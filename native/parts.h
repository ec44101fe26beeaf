// Work divided into parts, which threads of a pool take: XLA's (`ffi::ThreadPool`), or ours
// (`Workers`).
//
// The caller takes parts too, and waits for those only that others have begun, so no thread waits
// for one that has not started.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace morphax::parts {

// Parts of a computation, each done by whoever comes first.
class Parts {
 public:
  Parts(std::int64_t count, std::function<void(std::int64_t)> body)
      : count_(count), body_(std::move(body)) {}

  void work() {
    for (std::int64_t part; (part = next_++) < count_;) {
      body_(part);
      const std::lock_guard lock(mutex_);
      if (++done_ == count_) all_done_.notify_all();
    }
  }

  void wait() {
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return done_ == count_; });
  }

 private:
  std::int64_t count_;
  std::function<void(std::int64_t)> body_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::condition_variable all_done_;
  std::int64_t done_ = 0;
};

template <typename Pool>
void divided(Pool& pool, std::int64_t count, std::function<void(std::int64_t)> body) {
  // Who starts when all is done finds nothing to do, perhaps after this call has ended.
  const auto parts = std::make_shared<Parts>(count, std::move(body));
  const std::int64_t helpers = std::min<std::int64_t>(count, pool.num_threads()) - 1;
  for (std::int64_t i = 0; i < helpers; ++i) pool.Schedule([parts] { parts->work(); });
  parts->work();
  parts->wait();
}

}  // namespace morphax::parts
