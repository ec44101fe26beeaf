// Squares of a few elements, turned in registers.
//
// As many rows as a vector has elements are interleaved, each of the first half with that of the
// second; after as many rounds as the number of rows has digits, the rows are columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define MORPHAX_HAS_SHUFFLES
#endif
#endif

namespace morphax::turned_squares {

// Elements one by one: `rows` of the array, of `columns` elements, become columns of the copy.
template <typename T>
inline void turn_any(const T* from, std::int64_t row, std::int64_t rows, std::int64_t columns,
                     T* to, std::int64_t column) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) to[j * column + i] = from[i * row + j];
  }
}

// Elements along both sides of a square that fits registers.
template <typename T>
constexpr std::int64_t kFew = 16 / sizeof(T);

#ifdef MORPHAX_HAS_SHUFFLES
template <typename T>
struct Vector {
  typedef T Type __attribute__((vector_size(16)));
};

// Elements of two vectors in turns, from `first` on.
template <int first, typename V, std::size_t... k>
[[gnu::always_inline]] inline V interleaved(V a, V b, std::index_sequence<k...>) {
  constexpr int count = sizeof...(k);
  return __builtin_shufflevector(a, b, (first + int(k) / 2 + int(k % 2) * count)...);
}

template <typename T>
[[gnu::always_inline]] inline void turn_few(const T* from, std::int64_t row, T* to,
                                            std::int64_t column) {
  constexpr std::int64_t few = kFew<T>;
  constexpr auto places = std::make_index_sequence<few>();
  typename Vector<T>::Type rows[few], mixed[few];
  for (std::int64_t i = 0; i < few; ++i) std::memcpy(&rows[i], from + i * row, sizeof(rows[i]));
  for (std::int64_t round = 1; round < few; round *= 2) {
    for (std::int64_t i = 0; i < few / 2; ++i) {
      mixed[2 * i] = interleaved<0>(rows[i], rows[i + few / 2], places);
      mixed[2 * i + 1] = interleaved<few / 2>(rows[i], rows[i + few / 2], places);
    }
    std::memcpy(rows, mixed, sizeof(rows));
  }
  for (std::int64_t j = 0; j < few; ++j) std::memcpy(to + j * column, &rows[j], sizeof(rows[j]));
}
#else
template <typename T>
[[gnu::always_inline]] inline void turn_few(const T* from, std::int64_t row, T* to,
                                            std::int64_t column) {
  turn_any(from, row, kFew<T>, kFew<T>, to, column);
}
#endif

// The same of any size, by such squares as far as there are some.
template <typename T>
[[gnu::always_inline]] inline void turn_rows(const T* from, std::int64_t row, std::int64_t rows,
                                             std::int64_t columns, T* to, std::int64_t column) {
  constexpr std::int64_t few = kFew<T>;
  const std::int64_t whole = rows / few * few, wide = columns / few * few;
  for (std::int64_t i = 0; i < whole; i += few) {
    const T* first = from + i * row;
    for (std::int64_t j = 0; j < wide; j += few)
      turn_few(first + j, row, to + j * column + i, column);
    turn_any(first + wide, row, few, columns - wide, to + wide * column + i, column);
  }
  turn_any(from + whole * row, row, rows - whole, columns, to + whole, column);
}

}  // namespace morphax::turned_squares
