#include "lapack_steps.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NO_IMPORT_ARRAY
#define PY_ARRAY_UNIQUE_SYMBOL morphax_lapack_array_api
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lapack_nan_steps.h"
#include "lapack_step_parts.h"
#include "row_orders.h"
#include "small_factor_steps.h"

namespace morphax::lapack {

namespace {

constexpr std::size_t kMostArguments = 20;
constexpr std::size_t kTile = 16;

using Pointers = std::array<char*, kMostArguments>;

template <std::size_t... i>
void apply(void* function, const Pointers& at, std::index_sequence<i...>) {
  reinterpret_cast<void (*)(std::enable_if_t<(i < kMostArguments), char*>...)>(function)(at[i]...);
}

template <std::size_t count>
void call_with(void* function, const Pointers& at) {
  apply(function, at, std::make_index_sequence<count>());
}

template <std::size_t... count>
constexpr auto callers_of(std::index_sequence<count...>) {
  return std::array{&call_with<count>...};
}

constexpr auto kCallers = callers_of(std::make_index_sequence<kMostArguments + 1>());

// A call of a function of Fortran, which takes pointers only, so one step serves all functions.
class Call final : public Step {
 public:
  explicit Call(const nb::tuple& described)
      : described_(described), count_(described.size() - 2), numbers_{} {
    if (count_ > kMostArguments) throw nb::value_error("lapack: too many arguments");
    function_ = function_in(described[1]);
    for (std::size_t i = 0; i < count_; ++i) read(i, described[i + 2]);
  }

  void run(const Places& at) const override {
    Pointers given = fixed_;
    for (const auto& [argument, where] : memories_) given[argument] = where.in<char>(at);
    kCallers[count_](function_, given);
  }

 private:
  // The function that a capsule of Cython holds, whose name is its declaration in C.
  void* function_in(nb::handle capsule) const {
    const char* declaration = PyCapsule_GetName(capsule.ptr());
    if (declaration == nullptr) throw nb::python_error();
    const char* end = declaration + std::strlen(declaration);
    const auto taken = static_cast<std::size_t>(std::count(declaration, end, ',')) + 1;
    if (std::strncmp(declaration, "void (", 6) != 0 || taken != count_) {
      throw nb::type_error("lapack: the function takes other arguments");
    }
    return PyCapsule_GetPointer(capsule.ptr(), declaration);
  }

  void read(std::size_t place, nb::handle argument) {
    if (PyLong_Check(argument.ptr())) {
      numbers_[place] = nb::cast<int>(argument);
      fixed_[place] = reinterpret_cast<char*>(&numbers_[place]);
    } else if (PyUnicode_Check(argument.ptr())) {
      // A letter is the first byte of the text.
      fixed_[place] = const_cast<char*>(nb::cast<const char*>(argument));
    } else if (PyTuple_Check(argument.ptr())) {
      memories_.emplace_back(place, Where(argument));
    } else if (PyArray_Check(argument.ptr())) {
      fixed_[place] = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(argument.ptr()));
    } else {
      throw nb::type_error("lapack: an argument is a number, a letter, an array or memory");
    }
  }

  nb::tuple described_;  // keeps letters and arrays
  std::size_t count_;
  void* function_ = nullptr;
  Pointers fixed_{};
  std::array<int, kMostArguments> numbers_;
  std::vector<std::pair<std::size_t, Where>> memories_;
};

// The transpose of a matrix by rows, each of which may be longer than what is read of it.
template <typename T>
class Transpose final : public Step {
 public:
  explicit Transpose(const nb::tuple& d)
      : from_(d[1]),
        to_(d[2]),
        rows_(number(d[3])),
        columns_(number(d[4])),
        from_row_(number(d[5])),
        to_row_(number(d[6])) {}

  void run(const Places& at) const override {
    const T* from = from_.in<T>(at);
    T* to = to_.in<T>(at);
    for (std::size_t top = 0; top < rows_; top += kTile) {
      const std::size_t bottom = std::min(top + kTile, rows_);
      for (std::size_t left = 0; left < columns_; left += kTile) {
        const std::size_t right = std::min(left + kTile, columns_);
        for (std::size_t j = left; j < right; ++j) {
          for (std::size_t i = top; i < bottom; ++i) to[j * to_row_ + i] = from[i * from_row_ + j];
        }
      }
    }
  }

 private:
  Where from_, to_;
  std::size_t rows_, columns_, from_row_, to_row_;
};

class Copy final : public Step {
 public:
  explicit Copy(const nb::tuple& d) : from_(d[1]), to_(d[2]), bytes_(number(d[3])) {}

  void run(const Places& at) const override {
    std::memcpy(to_.in<char>(at), from_.in<char>(at), bytes_);
  }

 private:
  Where from_, to_;
  std::size_t bytes_;
};

// Rows of a matrix in an order that is given: row i is row `order[i]` of the other.
class Rows final : public Step {
 public:
  Rows(const nb::tuple& d, bool placed)
      : from_(d[1]),
        to_(d[2]),
        order_(d[3]),
        rows_(number(d[4])),
        bytes_(number(d[5])),
        placed_(placed) {}

  void run(const Places& at) const override {
    const char* from = from_.in<char>(at);
    char* to = to_.in<char>(at);
    const auto* order = order_.in<std::int32_t>(at);
    const auto last = static_cast<std::int32_t>(rows_) - 1;
    for (std::size_t i = 0; i < rows_; ++i) {
      const auto other = static_cast<std::size_t>(std::clamp(order[i], 0, last));
      std::memcpy(to + (placed_ ? other : i) * bytes_, from + (placed_ ? i : other) * bytes_,
                  bytes_);
    }
  }

 private:
  Where from_, to_, order_;
  std::size_t rows_, bytes_;
  bool placed_;
};

// The order of rows after exchanges of row i with row `pivots[i]`, which LAPACK counts from 1.
class Order final : public Step {
 public:
  explicit Order(const nb::tuple& d)
      : pivots_(d[1]),
        to_(d[2]),
        exchanges_(number(d[3])),
        rows_(number(d[4])),
        first_(nb::cast<std::int32_t>(d[5])) {}

  void run(const Places& at) const override {
    row_orders::after_exchanges(pivots_.in<std::int32_t>(at), static_cast<std::int64_t>(exchanges_),
                                to_.in<std::int32_t>(at), static_cast<std::int64_t>(rows_), first_);
  }

 private:
  Where pivots_, to_;
  std::size_t exchanges_, rows_;
  std::int32_t first_;
};

class LessOne final : public Step {
 public:
  explicit LessOne(const nb::tuple& d) : at_(d[1]), count_(number(d[2])) {}

  void run(const Places& at) const override {
    auto* numbers = at_.in<std::int32_t>(at);
    for (std::size_t i = 0; i < count_; ++i) --numbers[i];
  }

 private:
  Where at_;
  std::size_t count_;
};

// Division by the largest of the numbers where it is extreme; the divisor, else 1.
template <typename T>
class InUnits final : public Step {
 public:
  explicit InUnits(const nb::tuple& d)
      : at_(d[1]), count_(number(d[2])), unit_(d[3]), limit_(nb::cast<T>(d[4])) {}

  void run(const Places& at) const override {
    T* numbers = at_.in<T>(at);
    T size = 0;
    for (std::size_t i = 0; i < count_; ++i) size = std::max(size, std::abs(numbers[i]));
    const bool ordinary = size == 0 || (size > 1 / limit_ && size < limit_);
    *unit_.in<T>(at) = ordinary ? T(1) : size;
    if (ordinary) return;
    for (std::size_t i = 0; i < count_; ++i) numbers[i] /= size;
  }

 private:
  Where at_;
  std::size_t count_;
  Where unit_;
  T limit_;
};

template <typename T>
class Times final : public Step {
 public:
  explicit Times(const nb::tuple& d) : at_(d[1]), count_(number(d[2])), unit_(d[3]) {}

  void run(const Places& at) const override {
    T* numbers = at_.in<T>(at);
    const T unit = *unit_.in<T>(at);
    for (std::size_t i = 0; i < count_; ++i) numbers[i] *= unit;
  }

 private:
  Where at_;
  std::size_t count_;
  Where unit_;
};

template <typename T>
class Conjugate final : public Step {
 public:
  explicit Conjugate(const nb::tuple& d) : at_(d[1]), count_(number(d[2])) {}

  void run(const Places& at) const override {
    T* numbers = at_.in<T>(at);
    for (std::size_t i = 1; i < count_; i += 2) numbers[i] = -numbers[i];
  }

 private:
  Where at_;
  std::size_t count_;
};

template <typename T>
class Complex final : public Step {
 public:
  explicit Complex(const nb::tuple& d)
      : real_(d[1]), imaginary_(d[2]), to_(d[3]), count_(number(d[4])) {}

  void run(const Places& at) const override {
    const T *real = real_.in<T>(at), *imaginary = imaginary_.in<T>(at);
    auto* to = to_.in<std::complex<T>>(at);
    for (std::size_t i = 0; i < count_; ++i) to[i] = {real[i], imaginary[i]};
  }

 private:
  Where real_, imaginary_, to_;
  std::size_t count_;
};

// Vectors by columns, of real matrices: of a pair of conjugate ones LAPACK gives the real and the
// imaginary part; by rows, complex.
template <typename T>
class Vectors final : public Step {
 public:
  explicit Vectors(const nb::tuple& d)
      : from_(d[1]), imaginary_(d[2]), to_(d[3]), size_(number(d[4])) {}

  void run(const Places& at) const override {
    const T *from = from_.in<T>(at), *imaginary = imaginary_.in<T>(at);
    auto* to = to_.in<std::complex<T>>(at);
    for (std::size_t j = 0; j < size_; ++j, from += size_) {
      if (imaginary[j] > 0 && j + 1 < size_) {
        for (std::size_t i = 0; i < size_; ++i) {
          to[i * size_ + j] = {from[i], from[i + size_]};
          to[i * size_ + j + 1] = {from[i], -from[i + size_]};
        }
        ++j, from += size_;
      } else {
        for (std::size_t i = 0; i < size_; ++i) to[i * size_ + j] = from[i];
      }
    }
  }

 private:
  Where from_, imaginary_, to_;
  std::size_t size_;
};

std::unique_ptr<Step> transpose(const nb::tuple& described) {
  switch (number(described[described.size() - 1])) {
    case 4:
      return std::make_unique<Transpose<std::uint32_t>>(described);
    case 8:
      return std::make_unique<Transpose<std::uint64_t>>(described);
    default:
      return std::make_unique<Transpose<std::complex<double>>>(described);
  }
}

}  // namespace

std::unique_ptr<Step> step_of(const nb::tuple& described) {
  const std::string_view name = nb::cast<const char*>(described[0]);
  if (name == "call") return std::make_unique<Call>(described);
  if (name == "transpose") return transpose(described);
  if (name == "copy") return std::make_unique<Copy>(described);
  if (name == "rows taken") return std::make_unique<Rows>(described, false);
  if (name == "rows placed") return std::make_unique<Rows>(described, true);
  if (name == "order") return std::make_unique<Order>(described);
  if (name == "less one") return std::make_unique<LessOne>(described);
  if (name == "in units") return of_reals<InUnits>(described);
  if (name == "times") return of_reals<Times>(described);
  if (name == "conjugate") return of_reals<Conjugate>(described);
  if (name == "complex") return of_reals<Complex>(described);
  if (name == "vectors") return of_reals<Vectors>(described);
  if (auto step = nan_step_of(name, described)) return step;
  if (auto step = small_step_of(name, described)) return step;
  throw nb::value_error("lapack: a step that does not exist");
}

}  // namespace morphax::lapack
