// Threads of ours, for operations on many numbers that no engine of XLA's runs.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "parts.h"

namespace morphax {

// Threads that wait for work.  They are started by the first work, and are there until the process
// ends; a child that is forked starts its own.
class Workers {
 public:
  static Workers& shared() noexcept;

  // Of the threads that share a piece of work, the one that asks included.
  static std::int64_t num_threads() noexcept { return wanted_; }
  // One thread does all of its work itself.
  static void set_num_threads(std::int64_t wanted) noexcept { wanted_ = wanted; }

  // Threads are not copied by a fork, and a lock may have been held there.
  static void forget() noexcept;

  // How many are awake: where they look for work, they run and are free.
  static std::int64_t awake() noexcept { return awake_; }

  // Has a thread call `task`, which throws nothing, soon or late.  Without a thread it is dropped:
  // who divides work (`parts.h`) does what nobody else has begun.
  void Schedule(std::function<void()> task);

 private:
  void serve() noexcept;

  static inline std::atomic<std::int64_t> wanted_{1}, awake_{0};
  std::mutex mutex_;
  std::condition_variable is_work_;
  std::deque<std::function<void()>> tasks_;
  // How many these are, for those who ask without the lock.
  std::atomic<std::int64_t> waiting_{0};
  std::int64_t started_ = 0;
  std::int64_t idle_ = 0;
};

// How many threads can run beside this one without another's processor, as far as one can know.
std::int64_t free_processors() noexcept;

// Operations on fewer elements are done by the thread that asks: to wake another takes as long.
inline constexpr std::int64_t kWorthSharing = 1 << 18;

// What it took one thread to do a piece of work that is done again and again: fewer elements than
// these may take long.
class Experience {
 public:
  bool is_long() const noexcept { return long_runs_.load(std::memory_order_relaxed) >= kRuns; }

  // A run may take long because others had the processor, several in a row hardly.
  void add(double seconds) noexcept {
    constexpr double kLong = 40e-6;
    long_runs_.store(seconds < kLong ? 0 : long_runs_.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
  }

 private:
  static constexpr int kRuns = 4;
  std::atomic<int> long_runs_{0};
};

// Calls `body(first, last)` for all pieces of a piece of work on so many elements, in parts where
// that pays.
template <typename Body>
void in_pieces(std::int64_t pieces, std::int64_t elements, Body body, bool is_long = false) {
  constexpr std::int64_t kPartsOfThread = 4;
  const std::int64_t threads = Workers::num_threads();
  if ((elements < kWorthSharing && !is_long) || threads < 2) return body(0, pieces);
  const std::int64_t parts = std::min(pieces, kPartsOfThread * threads);
  parts::divided(Workers::shared(), parts, [&](std::int64_t part) {
    body(pieces * part / parts, pieces * (part + 1) / parts);
  });
}

// Calls `body(begin, end)` for all of 0 … count - 1.  Parts begin at multiples of 4096: a whole
// number of vectors of all processors, and of pages.
template <typename Body>
void in_parts(std::int64_t count, Body body, bool is_long = false) {
  constexpr std::int64_t kPiece = 4096;
  const auto pieces = [&](std::int64_t first, std::int64_t last) {
    body(first * kPiece, std::min(last * kPiece, count));
  };
  in_pieces((count + kPiece - 1) / kPiece, count, pieces, is_long);
}

namespace workers {

void bind(nanobind::module_& module);

}  // namespace workers

}  // namespace morphax
