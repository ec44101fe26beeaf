#include "largest.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "objects.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::largest {

namespace {

// Of more elements they are found while other threads run.
constexpr std::size_t kMany = 1 << 12;

// A heap of those found so far, with the one that is to go next at its root.
template <typename T>
void find(const T* keys, std::size_t rows, std::size_t length, std::size_t kept,
          std::int32_t* out) {
  for (std::size_t row = 0; row < rows; ++row, keys += length, out += kept) {
    const auto precedes = [keys](std::int32_t i, std::int32_t j) {
      return keys[i] > keys[j] || (keys[i] == keys[j] && i < j);
    };
    for (std::size_t i = 0; i < kept; ++i) out[i] = static_cast<std::int32_t>(i);
    std::make_heap(out, out + kept, precedes);
    T least = keys[out[0]];
    for (std::size_t i = kept; i < length; ++i) {
      if (!(keys[i] > least)) continue;
      std::pop_heap(out, out + kept, precedes);
      out[kept - 1] = static_cast<std::int32_t>(i);
      std::push_heap(out, out + kept, precedes);
      least = keys[out[0]];
    }
    std::sort_heap(out, out + kept, precedes);
  }
}

// The order of floats and integers as that of integers; NaN are where their bits say.
template <typename T, typename I>
void ordered(const T* x, std::size_t count, I* keys) {
  constexpr I kMagnitude = std::numeric_limits<I>::max();
  for (std::size_t i = 0; i < count; ++i) {
    I bits;
    std::memcpy(&bits, x + i, sizeof bits);
    keys[i] = std::is_floating_point_v<T> && bits < 0 ? static_cast<I>(bits ^ kMagnitude) : bits;
  }
}

template <typename I, typename T>
void find_all(const T* x, std::size_t rows, std::size_t length, std::size_t kept,
              std::int32_t* out) {
  const auto find_some = [&](std::int64_t first, std::int64_t last) {
    const auto begin = static_cast<std::size_t>(first),
               some = static_cast<std::size_t>(last - first);
    const std::unique_ptr<I[]> keys(new I[some * length]);
    ordered(x + begin * length, some * length, keys.get());
    find(keys.get(), some, length, kept, out + begin * kept);
  };
  const auto all = static_cast<std::int64_t>(rows);
  if (rows * length < kMany) return find_some(0, all);
  const process_end::OthersRun others_run;
  in_pieces(all, static_cast<std::int64_t>(rows * length), find_some);
}

}  // namespace

void places(const float* x, std::size_t rows, std::size_t length, std::size_t kept,
            std::int32_t* out) {
  find_all<std::int32_t>(x, rows, length, kept, out);
}

void places(const double* x, std::size_t rows, std::size_t length, std::size_t kept,
            std::int32_t* out) {
  find_all<std::int64_t>(x, rows, length, kept, out);
}

void places(const std::int32_t* x, std::size_t rows, std::size_t length, std::size_t kept,
            std::int32_t* out) {
  find_all<std::int32_t>(x, rows, length, kept, out);
}

}  // namespace morphax::largest
