// Whether subnormal numbers count as 0 on this thread, as XLA has it on its own.
#pragma once

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace morphax {

enum class Subnormals { are_zero, are_numbers };

// While it lives; other machines than those of x86 stay as they are.
class SubnormalNumbers {
 public:
  SubnormalNumbers(const SubnormalNumbers&) = delete;
  SubnormalNumbers& operator=(const SubnormalNumbers&) = delete;
#ifdef __SSE__
  explicit SubnormalNumbers(Subnormals they) : before_(_mm_getcsr()) {
    _mm_setcsr(they == Subnormals::are_zero ? before_ | kFlush : before_ & ~kFlush);
  }
  ~SubnormalNumbers() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlush = 0x8040;  // results, and operands
  unsigned before_;
#else
  explicit SubnormalNumbers(Subnormals) {}
#endif
};

}  // namespace morphax
