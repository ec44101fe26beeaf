#include "lapack_nan_steps.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "lapack_step_parts.h"
#include "nan_spread.h"

namespace morphax::lapack {

namespace {

// Whether all numbers are finite; if not, they become zeros, and the flag 1.
template <typename T>
class ZeroUnlessFinite final : public Step {
 public:
  explicit ZeroUnlessFinite(const nb::tuple& d) : at_(d[1]), count_(number(d[2])), flag_(d[3]) {}

  void run(const Places& at) const override {
    *flag_.in<std::int32_t>(at) = nan_spread::zero_unless_finite(at_.in<T>(at), count_);
  }

 private:
  Where at_;
  std::size_t count_;
  Where flag_;
};

// NaN where a flag says that the numbers are of no use.
template <typename T>
class NanIf final : public Step {
 public:
  explicit NanIf(const nb::tuple& d) : at_(d[1]), count_(number(d[2])), flag_(d[3]) {}

  void run(const Places& at) const override {
    if (*flag_.in<std::int32_t>(at) == 0) return;
    T* numbers = at_.in<T>(at);
    std::fill(numbers, numbers + count_, std::numeric_limits<T>::quiet_NaN());
  }

 private:
  Where at_;
  std::size_t count_;
  Where flag_;
};

// NaN for all that a pivot by which the library does not divide has a part in.
template <typename T>
class NanAfterPivot final : public Step {
 public:
  explicit NanAfterPivot(const nb::tuple& d)
      : at_(d[1]), rows_(number(d[2])), columns_(number(d[3])), parts_(number(d[4])) {}

  void run(const Places& at) const override {
    nan_spread::after_pivot(at_.in<T>(at), rows_, columns_, parts_);
  }

 private:
  Where at_;
  std::size_t rows_, columns_, parts_;
};

// NaN for all that a reflection whose scalar is NaN has a part in.
template <typename T>
class NanAfterReflection final : public Step {
 public:
  explicit NanAfterReflection(const nb::tuple& d)
      : at_(d[1]),
        rows_(number(d[2])),
        columns_(number(d[3])),
        parts_(number(d[4])),
        scalars_(d[5]),
        count_(number(d[6])) {}

  void run(const Places& at) const override {
    nan_spread::after_reflection(at_.in<T>(at), rows_, columns_, parts_, scalars_.in<T>(at),
                                 count_);
  }

 private:
  Where at_;
  std::size_t rows_, columns_, parts_;
  Where scalars_;
  std::size_t count_;
};

// A failure where the diagonal of a square matrix has NaN in it.
template <typename T>
class FailIfNan final : public Step {
 public:
  explicit FailIfNan(const nb::tuple& d)
      : at_(d[1]), size_(number(d[2])), parts_(number(d[3])), info_(d[4]) {}

  void run(const Places& at) const override {
    if (nan_spread::has_failed(at_.in<T>(at), size_, parts_)) *info_.in<std::int32_t>(at) = 1;
  }

 private:
  Where at_;
  std::size_t size_, parts_;
  Where info_;
};

}  // namespace

std::unique_ptr<Step> nan_step_of(std::string_view name, const nb::tuple& described) {
  if (name == "zero unless finite") return of_reals<ZeroUnlessFinite>(described);
  if (name == "nan if") return of_reals<NanIf>(described);
  if (name == "nan after pivot") return of_reals<NanAfterPivot>(described);
  if (name == "nan after reflection") return of_reals<NanAfterReflection>(described);
  if (name == "fail if nan") return of_reals<FailIfNan>(described);
  return nullptr;
}

}  // namespace morphax::lapack
