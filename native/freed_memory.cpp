#include "freed_memory.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <mutex>

#ifdef __GLIBC__
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>
#endif

namespace morphax {

#ifdef __GLIBC__

namespace {

constexpr std::chrono::duration<double> kInterval{1};
// Of the time that passes: a process that uses less of it waits for something.
constexpr double kIdleShare = 0.01;

// The result of glibc's mallinfo2, which releases before 2.33 lack; mallinfo counts to 2 GiB only.
struct Counts {
  std::size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
using Count = Counts (*)();

Count find_count() noexcept { return reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "mallinfo2")); }

bool environment_decides() noexcept {
  for (const char* name :
       {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  return tunables != nullptr && std::strstr(tunables, "glibc.malloc.") != nullptr;
}

// Bytes of memory of this process alone that are in the machine's memory.
double resident() noexcept {
  double pages = 0, resident = 0, shared = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lf %lf %lf", &pages, &resident, &shared) != 3) resident = shared = 0;
  std::fclose(file);
  return (resident - shared) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double processor_seconds() noexcept {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Watches what the C library keeps.  Free memory alone does not tell: it may be returned already.
class Watch {
 public:
  Watch(Count count, double bound, double idle_seconds)
      : count_(count), bound_(bound), idle_seconds_(idle_seconds), in_other_use_(in_other_use()) {}

  void run() noexcept {
    for (;;) {
      std::this_thread::sleep_for(kInterval);
      const double kept = in_other_use() - in_other_use_;
      const bool is_idle = has_idled();
      if (kept > bound_ || (is_idle && kept > static_cast<double>(kWorthWatching))) {
        give_freed_memory_back();
        in_other_use_ = in_other_use();
      }
    }
  }

 private:
  // Bytes that are resident, but that nobody holds as far as the C library knows.
  double in_other_use() const noexcept {
    const Counts counts = count_();
    return resident() - static_cast<double>(counts.uordblks + counts.hblkhd);
  }

  bool has_idled() noexcept {
    const double used = processor_seconds();
    const bool is_busy = used - processor_seconds_ > kIdleShare * kInterval.count();
    processor_seconds_ = used;
    idled_ = is_busy ? 0 : idled_ + kInterval.count();
    return idled_ >= idle_seconds_;
  }

  Count count_;
  double bound_;
  double idle_seconds_;
  double in_other_use_;  // when nothing was kept
  double processor_seconds_ = processor_seconds();
  double idled_ = 0;
};

// A child that is forked has no thread that watches.
pid_t watched_process = 0;
std::mutex* const watching = new std::mutex;

}  // namespace

void give_freed_memory_back() noexcept { malloc_trim(0); }

bool keep_freed_memory(std::size_t bound, double idle_seconds) noexcept {
  static const Count count = environment_decides() ? nullptr : find_count();
  if (count == nullptr) return false;
  const std::unique_lock lock(*watching, std::try_to_lock);
  if (!lock.owns_lock() || watched_process == getpid()) return lock.owns_lock();
  constexpr std::size_t most = std::numeric_limits<int>::max();
  // Blocks of the heap are kept when they are freed, those of the system's own are not.  What is
  // free at its end is returned from this size on.
  if (mallopt(M_TRIM_THRESHOLD, static_cast<int>(bound < most ? bound : most)) == 0) return false;
  if (mallopt(M_MMAP_MAX, 0) == 0) return false;
  Watch watch(count, static_cast<double>(bound), idle_seconds);
  watched_process = getpid();
  return start_quiet_thread([watch]() mutable { watch.run(); });
}

#else

void give_freed_memory_back() noexcept {}

bool keep_freed_memory(std::size_t, double) noexcept { return false; }

#endif

}  // namespace morphax
