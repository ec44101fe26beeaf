// A pool of 64-byte aligned memory blocks that keeps freed blocks for reuse.
//
// Fresh memory from the system is paid for twice: once when it is mapped and once, page by page,
// when it is first written.  A program that computes one large array after another pays this on
// every result unless somebody keeps the blocks; that is the only purpose of this class.
//
// - Sizes are rounded up to classes, eight in each octave, so at most 1/8 of a block is unused.
// - Retained blocks never exceed `cap` bytes: the block that was freed longest ago goes first.
// - A request that the system refuses is tried once more after all retained blocks are given back.
// - What is retained goes back to the system once nobody has allocated or freed for a while.  A
//   thread sees to that: it runs only while much is retained, and sleeps all the time but a moment
//   per interval.
// - Every method may be called from any thread.  A fork takes the locks of all pools first, so that
//   the child finds them free, and its pools as they were; the thread is not in the child, which
//   starts one of its own.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace morphax {

inline constexpr std::size_t kAlignment = 64;

struct PoolStats {
  std::size_t cap;       // bytes that may be retained
  std::size_t retained;  // bytes in freed blocks kept for reuse
  std::size_t in_use;    // bytes in blocks that a caller holds
  std::uint64_t hits;    // allocations served from retained blocks
  std::uint64_t misses;  // allocations served by the system
};

struct Block;

struct BlockLinks {
  Block* newer = nullptr;
  Block* older = nullptr;
};

// A doubly linked list through one of the link pairs of `Block`.
template <BlockLinks Block::* links>
class BlockList {
 public:
  Block* newest() const noexcept { return newest_; }
  Block* oldest() const noexcept { return oldest_; }
  void push(Block* block) noexcept;
  void remove(Block* block) noexcept;

 private:
  Block* newest_ = nullptr;
  Block* oldest_ = nullptr;
};

// The header in front of each block's data.
struct Block {
  void* raw;          // what malloc returned, for free
  std::size_t bytes;  // size of the data: that of its class
  std::size_t size_class;
  BlockLinks among_all;    // neighbours among all retained blocks
  BlockLinks among_class;  // neighbours among the retained blocks of the same class
};

class BlockPool {
 public:
  BlockPool(std::size_t cap, double idle_seconds);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Memory for at least `bytes` bytes, or nullptr when there is none.
  void* allocate(std::size_t bytes) noexcept { return allocate(bytes, false); }
  void* allocate_zeroed(std::size_t bytes) noexcept { return allocate(bytes, true); }
  void* reallocate(void* data, std::size_t bytes) noexcept;
  void free(void* data) noexcept;

  // Give all retained blocks back to the system.
  void release() noexcept;
  void set_cap(std::size_t cap) noexcept;
  PoolStats stats() const noexcept;

  // Around a fork, on the thread that forks.
  void before_fork() noexcept { mutex_.lock(); }
  void after_fork_in_parent() noexcept { mutex_.unlock(); }
  void after_fork_in_child() noexcept;

 private:
  static constexpr std::size_t kClasses = 512;

  void* allocate(std::size_t bytes, bool zeroed) noexcept;
  Block* take_retained(std::size_t size_class) noexcept;
  void drop(Block* retained) noexcept;
  void shrink_to(std::size_t limit) noexcept;
  void start_watching() noexcept;
  void watch() noexcept;

  mutable std::mutex mutex_;
  std::size_t cap_;
  std::size_t retained_ = 0;
  std::size_t in_use_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::chrono::duration<double> idle_;
  std::uint64_t frees_ = 0;
  bool is_watched_ = false;
  bool is_ending_ = false;
  std::condition_variable changed_;  // is_watched_ or is_ending_
  BlockList<&Block::among_all> all_;
  std::array<BlockList<&Block::among_class>, kClasses> by_class_;
};

}  // namespace morphax
