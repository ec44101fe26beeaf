#include "block_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "freed_memory.h"

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#endif

namespace morphax {

namespace {

constexpr std::size_t kStepsLog2 = 3;  // eight classes in each octave
constexpr std::size_t kSteps = std::size_t{1} << kStepsLog2;
constexpr std::size_t kLargest = std::numeric_limits<std::ptrdiff_t>::max() / 2;
constexpr std::size_t kHugePageThreshold = std::size_t{4} << 20;

// The data follows its header directly, so the header must fit the space that alignment leaves.
static_assert(sizeof(Block) <= 2 * kAlignment && kAlignment % alignof(Block) == 0);

struct SizeClass {
  std::size_t index;
  std::size_t bytes;
};

std::size_t floor_log2(std::size_t n) noexcept {
  std::size_t log = 0;
  while (n >>= 1) ++log;
  return log;
}

// The smallest class that holds `bytes`: k·2^e cache lines with k in (8, 16], or k ≤ 8 and e = 0.
SizeClass size_class_of(std::size_t bytes) noexcept {
  const std::size_t lines = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment, 1);
  if (lines <= kSteps) return {lines - 1, lines * kAlignment};
  const std::size_t exponent = floor_log2(lines - 1) - kStepsLog2;
  const std::size_t steps = ((lines - 1) >> exponent) + 1;
  return {(exponent << kStepsLog2) + steps - 1, (steps << exponent) * kAlignment};
}

Block* header_of(void* data) noexcept {
  return reinterpret_cast<Block*>(static_cast<char*>(data) - sizeof(Block));
}

void* data_of(Block* block) noexcept { return reinterpret_cast<char*>(block) + sizeof(Block); }

// Without huge pages the first write to a large block costs one page fault per 4 KiB.
void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = 4096;
  if (bytes < kHugePageThreshold) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) & ~(page - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) & ~(page - 1);
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // advice: may be refused
#endif
}

Block* new_block(const SizeClass& size_class, bool zeroed) noexcept {
  const std::size_t total = sizeof(Block) + (kAlignment - 1) + size_class.bytes;
  // calloc takes untouched pages from the system as zeros, which memset could not.
  void* raw = zeroed ? std::calloc(1, total) : std::malloc(total);
  if (raw == nullptr) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(raw) + sizeof(Block);
  const auto data = (first + kAlignment - 1) & ~std::uintptr_t{kAlignment - 1};
  Block* block = header_of(reinterpret_cast<void*>(data));
  *block = Block{raw, size_class.bytes, size_class.index, {}, {}};
  prefer_huge_pages(data_of(block), block->bytes);
  return block;
}

// All pools, for forks.  They are never destroyed: threads may use them while the process ends.
struct Pools {
  std::mutex mutex;
  std::vector<BlockPool*> all;
};

Pools& pools() {
  static Pools* const pools = new Pools;
  return *pools;
}

[[maybe_unused]] void lock_pools() noexcept {
  pools().mutex.lock();
  for (BlockPool* pool : pools().all) pool->before_fork();
}

[[maybe_unused]] void unlock_pools_in_parent() noexcept {
  for (BlockPool* pool : pools().all) pool->after_fork_in_parent();
  pools().mutex.unlock();
}

[[maybe_unused]] void unlock_pools_in_child() noexcept {
  for (BlockPool* pool : pools().all) pool->after_fork_in_child();
  pools().mutex.unlock();
}

}  // namespace

template <BlockLinks Block::* links>
void BlockList<links>::push(Block* block) noexcept {
  (block->*links) = {nullptr, newest_};
  (newest_ != nullptr ? (newest_->*links).newer : oldest_) = block;
  newest_ = block;
}

template <BlockLinks Block::* links>
void BlockList<links>::remove(Block* block) noexcept {
  const auto [newer, older] = block->*links;
  (newer != nullptr ? (newer->*links).older : newest_) = older;
  (older != nullptr ? (older->*links).newer : oldest_) = newer;
}

Block* BlockPool::take_retained(std::size_t size_class) noexcept {
  Block* block = by_class_[size_class].newest();  // the newest is most likely still in cache
  if (block == nullptr) return nullptr;
  by_class_[size_class].remove(block);
  all_.remove(block);
  retained_ -= block->bytes;
  return block;
}

void* BlockPool::allocate(std::size_t bytes, bool zeroed) noexcept {
  if (bytes > kLargest) return nullptr;
  const SizeClass size_class = size_class_of(bytes);
  {
    const std::lock_guard lock(mutex_);
    Block* block = take_retained(size_class.index);
    ++(block != nullptr ? hits_ : misses_);
    in_use_ += size_class.bytes;
    if (block != nullptr) {
      if (zeroed) std::memset(data_of(block), 0, bytes);
      return data_of(block);
    }
  }
  Block* block = new_block(size_class, zeroed);
  if (block == nullptr) {
    release();
    block = new_block(size_class, zeroed);
  }
  if (block != nullptr) return data_of(block);
  const std::lock_guard lock(mutex_);
  in_use_ -= size_class.bytes;
  return nullptr;
}

void* BlockPool::reallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return allocate(bytes);
  const Block* block = header_of(data);
  if (bytes <= kLargest && size_class_of(bytes).index == block->size_class) return data;
  void* moved = allocate(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, data, std::min(block->bytes, bytes));
  free(data);
  return moved;
}

void BlockPool::free(void* data) noexcept {
  if (data == nullptr) return;
  Block* block = header_of(data);
  const std::lock_guard lock(mutex_);
  in_use_ -= block->bytes;
  if (block->bytes > cap_) {
    std::free(block->raw);
    return;
  }
  ++frees_;
  shrink_to(cap_ - block->bytes);
  by_class_[block->size_class].push(block);
  all_.push(block);
  retained_ += block->bytes;
  if (retained_ >= kWorthWatching && !is_watched_) start_watching();
}

BlockPool::BlockPool(std::size_t cap, double idle_seconds) : cap_(cap), idle_(idle_seconds) {
#ifndef _WIN32
  static const int registered =
      pthread_atfork(&lock_pools, &unlock_pools_in_parent, &unlock_pools_in_child);
  static_cast<void>(registered);
#endif
  const std::lock_guard lock(pools().mutex);
  pools().all.push_back(this);
}

BlockPool::~BlockPool() {
  {
    const std::lock_guard lock(pools().mutex);
    auto& all = pools().all;
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
  }
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !is_watched_; });
  shrink_to(0);
}

void BlockPool::after_fork_in_child() noexcept {
  is_watched_ = false;
  // The thread that waits for the old one is not in this process.
  new (&changed_) std::condition_variable;
  mutex_.unlock();
}

void BlockPool::start_watching() noexcept {
  is_watched_ = start_quiet_thread([this] { watch(); });
}

// Ends when it has given all back, or nearly nothing is left; the next block freed starts another.
void BlockPool::watch() noexcept {
  std::unique_lock lock(mutex_);
  while (!is_ending_ && retained_ >= kWorthWatching) {
    const std::uint64_t seen = hits_ + misses_ + frees_;
    changed_.wait_for(lock, idle_, [this] { return is_ending_; });
    if (is_ending_ || hits_ + misses_ + frees_ != seen) continue;
    shrink_to(0);
    lock.unlock();
    give_freed_memory_back();
    lock.lock();
  }
  is_watched_ = false;
  changed_.notify_all();
}

void BlockPool::drop(Block* retained) noexcept {
  by_class_[retained->size_class].remove(retained);
  all_.remove(retained);
  retained_ -= retained->bytes;
  std::free(retained->raw);
}

void BlockPool::shrink_to(std::size_t limit) noexcept {
  while (retained_ > limit) drop(all_.oldest());
}

void BlockPool::release() noexcept {
  const std::lock_guard lock(mutex_);
  shrink_to(0);
}

void BlockPool::set_cap(std::size_t cap) noexcept {
  const std::lock_guard lock(mutex_);
  cap_ = cap;
  shrink_to(cap);
}

PoolStats BlockPool::stats() const noexcept {
  const std::lock_guard lock(mutex_);
  return {cap_, retained_, in_use_, hits_, misses_};
}

}  // namespace morphax
