// Memory that was freed: how much of it the C library keeps for the next results, and its return.
//
// XLA takes the memory of results from the C library, which asks the system for each block beyond
// 32 MiB anew.  Fresh memory is paid for page by page, when it is first written: more than most
// operations cost.  `keep_freed_memory` makes the C library keep it, as `BlockPool` does for arrays
// that are ours to allocate, with the same bound and the same rule for giving it back.
#pragma once

#include <cstddef>

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

#include <thread>

namespace morphax {

// What a thread that watches freed memory ignores: to give back less is not worth a wake-up.
inline constexpr std::size_t kWorthWatching = std::size_t{16} << 20;

// Returns to the system all whole pages that are free.
void give_freed_memory_back() noexcept;

// Keeps large blocks that are freed, about `bound` bytes of them, until the process has been idle
// for a while.  False where there is no way to do so, or the environment has chosen otherwise.
// Later calls change nothing, but for the first one after a fork, which watches again.
bool keep_freed_memory(std::size_t bound, double idle_seconds) noexcept;

// A thread that receives no signals: these must wake the threads that wait for them.
template <typename Function>
bool start_quiet_thread(Function function) noexcept {
#ifndef _WIN32
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
#endif
  bool is_started = true;
  try {
    std::thread(function).detach();
  } catch (...) {
    is_started = false;
  }
#ifndef _WIN32
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  return is_started;
}

}  // namespace morphax
