// Products of large matrices in eager mode.
//
// The BLAS behind NumPy divides them among threads that wait for each other, and on a busy machine
// wait long.  Here they are divided among threads of ours (`workers.h`), who wait for nobody that
// has not begun.  Each element is a sum over blocks of `kDepth` products, in order, whoever
// computes it, so the bits do not depend on threads.  The twin is NumPy's product, rounded
// otherwise.  NumPy has a plain loop for integers; here they are numbers modulo 2³² or 2⁶⁴.
//
// Both matrices are copied in the order in which they are read: the second one by panels of some
// columns, the first by panels of some rows (unless one panel of columns is all there is), and a
// tile of the result is summed in registers.
// Reference: K. Goto and R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM
// Transactions on Mathematical Software 34 (2008).
#include "products.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "objects.h"
#include "process_end.h"
#include "vector_products.h"
#include "workers.h"

namespace morphax::products {

namespace {

constexpr std::int64_t kDepth = 256;
// Panels of rows that are copied together: with a panel of columns they fit the caches.
constexpr std::int64_t kPanels = 8;
// Products of a thread's while another one is woken, for each element that counts as shared work.
constexpr std::int64_t kProductsOfElement = 16;
// The elements of a matrix that lies in the first cache, whose rows are read where they are.
constexpr std::int64_t kFewElements = 2048;
// So many columns are multiplied one by one.
constexpr std::int64_t kFewColumns = 4;
constexpr std::align_val_t kAlignment{64};

// Rows of the first matrix, so far apart; copied ones lie column by column.
template <typename T>
struct Rows {
  const T* first;
  std::int64_t down;
};

// Adds a product of rows and a panel to a tile of the result, of which `m` rows and `n` columns
// exist.
template <typename T>
using Tile = void (*)(Rows<T> a, const T* b, std::int64_t depth, T* c, std::int64_t width,
                      std::int64_t m, std::int64_t n);

// What a processor multiplies at once: `rows` rows and `columns` columns, in its registers.
template <typename T>
struct Kernel {
  std::int64_t rows, columns;
  // Of copied rows, and of rows where they lie.
  Tile<T> tile, tile_in_place;
};

// A product and its sum are rounded once, where the processor has such an operation.
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")

template <typename T, int kBytes, int kRows, bool kInPlace>
[[gnu::always_inline]] inline void multiply_tile(Rows<T> rows, const T* b, std::int64_t depth, T* c,
                                                 std::int64_t width, std::int64_t m,
                                                 std::int64_t n) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr int kLanes = kBytes / sizeof(T);
  Vector sums[kRows][2] = {};
  const std::int64_t down = kInPlace ? rows.down : 1, across = kInPlace ? 1 : kRows;
  const T* a = rows.first;
  for (std::int64_t k = 0; k < depth; ++k, a += across, b += 2 * kLanes) {
    Vector left, right;
    std::memcpy(&left, b, kBytes);
    std::memcpy(&right, b + kLanes, kBytes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] += a[i * down] * left;
      sums[i][1] += a[i * down] * right;
    }
  }
  if (m == kRows && n == 2 * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i, c += width) {
      Vector left, right;
      std::memcpy(&left, c, kBytes);
      std::memcpy(&right, c + kLanes, kBytes);
      left += sums[i][0];
      right += sums[i][1];
      std::memcpy(c, &left, kBytes);
      std::memcpy(c + kLanes, &right, kBytes);
    }
    return;
  }
  T tile[kRows][2 * kLanes];
  std::memcpy(tile, sums, sizeof(tile));
  for (std::int64_t i = 0; i < m; ++i, c += width) {
    std::int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      Vector known, more;
      std::memcpy(&known, c + j, kBytes);
      std::memcpy(&more, tile[i] + j, kBytes);
      known += more;
      std::memcpy(c + j, &known, kBytes);
    }
    for (; j < n; ++j) c[j] += tile[i][j];
  }
}

#define MORPHAX_TILE(NAME, BYTES, ROWS)                                                          \
  template <typename T, bool kInPlace>                                                           \
  void NAME(Rows<T> a, const T* b, std::int64_t depth, T* c, std::int64_t width, std::int64_t m, \
            std::int64_t n) {                                                                    \
    multiply_tile<T, BYTES, ROWS, kInPlace>(a, b, depth, c, width, m, n);                        \
  }

MORPHAX_TILE(tile_of_any, 16, 4)
#if defined(__x86_64__) && defined(__linux__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
MORPHAX_TILE(tile_of_32_bytes, 32, 6)
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
MORPHAX_TILE(tile_of_64_bytes, 64, 14)
#pragma GCC pop_options
#endif
#pragma GCC pop_options

template <typename T>
Kernel<T> kernel_of_processor() {
  constexpr std::int64_t kLanes = 16 / sizeof(T);
#if defined(__x86_64__) && defined(__linux__)
  if (__builtin_cpu_supports("avx512f"))
    return {14, 8 * kLanes, tile_of_64_bytes<T, false>, tile_of_64_bytes<T, true>};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {6, 4 * kLanes, tile_of_32_bytes<T, false>, tile_of_32_bytes<T, true>};
#endif
  return {4, 2 * kLanes, tile_of_any<T, false>, tile_of_any<T, true>};
}

struct Free {
  void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
};

template <typename T>
std::unique_ptr<T[], Free> aligned(std::int64_t count) {
  return std::unique_ptr<T[], Free>(
      static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), kAlignment)));
}

// Memory for copies: of small matrices, of which there may be thousands, on the stack.
template <typename T>
class Copies {
 public:
  explicit Copies(std::int64_t count) : large_(count > kFew ? aligned<T>(count) : nullptr) {}
  T* get() { return large_ ? large_.get() : few_; }

 private:
  static constexpr std::int64_t kFew = 8192 / sizeof(T);
  std::unique_ptr<T[], Free> large_;
  alignas(64) T few_[kFew];
};

std::int64_t parts_of(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

// Rows `first` … of a matrix, at most `rows` of `width`, at columns `begin` to `begin + depth`:
// column by column, with zeros for rows that do not exist.
template <typename T>
void copy_panel(const Matrix<T>& from, std::int64_t first, std::int64_t width, std::int64_t begin,
                std::int64_t depth, T* to) {
  const std::int64_t rows = std::min(width, from.rows - first);
  const T* start = from.first + first * from.down + begin * from.across;
  for (std::int64_t k = 0; k < depth; ++k, to += width) {
    const T* column = start + k * from.across;
    if (from.down == 1) {
      std::copy_n(column, rows, to);
    } else {
      for (std::int64_t i = 0; i < rows; ++i) to[i] = column[i * from.down];
    }
    std::fill_n(to + rows, width - rows, T{0});
  }
}

template <typename T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, T* out) {
  static const Kernel<T> kernel = kernel_of_processor<T>();
  const std::int64_t width = b.columns, most = std::min(kDepth, a.columns);
  const Matrix<T> turned{b.first, b.columns, b.rows, b.across, b.down};
  const std::int64_t panels = parts_of(width, kernel.columns);
  const std::int64_t rows = kernel.rows * kPanels;
  Copies<T> columns(panels * kernel.columns * most);
  // Of rows that are read for one panel alone, or are few, a copy would cost more than it saves.
  const bool is_in_place = a.across == 1 && (panels == 1 || a.rows * a.columns <= kFewElements);
  std::fill_n(out, a.rows * width, T{0});
  for (std::int64_t begin = 0; begin < a.columns; begin += kDepth) {
    const std::int64_t depth = std::min(kDepth, a.columns - begin);
    in_pieces(panels, width * depth, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        copy_panel(turned, i * kernel.columns, kernel.columns, begin, depth,
                   columns.get() + i * kernel.columns * depth);
    });
    const auto work = [&](std::int64_t first, std::int64_t last) {
      Copies<T> copied(rows * depth);
      for (std::int64_t block = first; block < last; ++block) {
        const std::int64_t top = block * rows, bottom = std::min(top + rows, a.rows);
        std::int64_t from = top;
        for (; is_in_place && from + kernel.rows <= bottom; from += kernel.rows) {
          for (std::int64_t j = 0, left = 0; j < panels; ++j, left += kernel.columns)
            kernel.tile_in_place({a.first + from * a.down + begin, a.down},
                                 columns.get() + left * depth, depth, out + from * width + left,
                                 width, kernel.rows, std::min(kernel.columns, width - left));
        }
        for (std::int64_t row = from; row < bottom; row += kernel.rows)
          copy_panel(a, row, kernel.rows, begin, depth, copied.get() + (row - top) * depth);
        for (std::int64_t j = 0; j < panels; ++j) {
          const T* panel = columns.get() + j * kernel.columns * depth;
          const std::int64_t left = j * kernel.columns;
          for (std::int64_t row = from; row < bottom; row += kernel.rows) {
            kernel.tile({copied.get() + (row - top) * depth, 1}, panel, depth,
                        out + row * width + left, width, std::min(kernel.rows, bottom - row),
                        std::min(kernel.columns, width - left));
          }
        }
      }
    };
    in_pieces(parts_of(a.rows, rows), a.rows * width * depth / kProductsOfElement, work);
  }
}

// Column by column: a tile has room for many, and takes its time whether they exist or not.
template <typename T>
void multiply_few(const Matrix<T>& a, const Matrix<T>& b, T* out) {
  const auto column = aligned<T>(a.rows);
  for (std::int64_t j = 0; j < b.columns; ++j) {
    multiply_vector(a, b.first + j * b.across, b.down, column.get());
    for (std::int64_t i = 0; i < a.rows; ++i) out[i * b.columns + j] = column[i];
  }
}

template <typename T>
void multiply_any(const Matrix<T>& a, const Matrix<T>& b, T* out) {
  if (b.columns == 1) return multiply_vector(a, b.first, b.down, out);
  if (a.rows == 1) {
    const Matrix<T> turned{b.first, b.columns, b.rows, b.across, b.down};
    return multiply_vector(turned, a.first, a.across, out);
  }
  b.columns <= kFewColumns&& a.across == 1 ? multiply_few(a, b, out) : multiply(a, b, out);
}

// Number `i` of a stack of matrices, or a matrix.
template <typename T>
Matrix<T> matrix_of(PyArrayObject* array, std::int64_t i) {
  constexpr auto kItem = static_cast<std::int64_t>(sizeof(T));
  const int axis = PyArray_NDIM(array) - 2;
  const auto* first = static_cast<const T*>(PyArray_DATA(array));
  if (axis == 1) first += i * PyArray_STRIDE(array, 0) / kItem;
  return {first, PyArray_DIM(array, axis), PyArray_DIM(array, axis + 1),
          PyArray_STRIDE(array, axis) / kItem, PyArray_STRIDE(array, axis + 1) / kItem};
}

// A stack of matrices of one row, or of one column, as rows.
template <typename T>
Matrix<T> rows_of(PyArrayObject* array, std::int64_t count, std::int64_t size, int axis) {
  constexpr auto kItem = static_cast<std::int64_t>(sizeof(T));
  const auto* first = static_cast<const T*>(PyArray_DATA(array));
  return {first, count, size, PyArray_STRIDE(array, 0) / kItem,
          PyArray_STRIDE(array, axis) / kItem};
}

// Threads share the matrices of a stack, or else what is to be done for each.
template <typename T>
void multiply_stacks(PyArrayObject* x, PyArrayObject* y, std::int64_t count, void* out) {
  auto* results = static_cast<T*>(out);
  const Matrix<T> a = matrix_of<T>(x, 0), b = matrix_of<T>(y, 0);
  const std::int64_t size = a.rows * b.columns, work = size * a.columns / kProductsOfElement;
  if (size == 1 && PyArray_NDIM(x) == 3 &&
      multiply_pairs(rows_of<T>(x, count, a.columns, 2), rows_of<T>(y, count, a.columns, 1),
                     results))
    return;
  const auto run = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      multiply_any(matrix_of<T>(x, i), matrix_of<T>(y, i), results + i * size);
  };
  work < kWorthSharing ? in_pieces(count, count * work, run) : run(0, count);
}

// How matrices of the dtype of one are multiplied; null if they are not.
auto multiplier_of(PyArrayObject* array)
    -> void (*)(PyArrayObject*, PyArrayObject*, std::int64_t, void*) {
  const int type = PyArray_TYPE(array);
  const auto bytes = PyTypeNum_ISINTEGER(type) ? PyArray_ITEMSIZE(array) : 0;
  if (type == NPY_FLOAT) return multiply_stacks<float>;
  if (type == NPY_DOUBLE) return multiply_stacks<double>;
  if (bytes == 4) return multiply_stacks<std::uint32_t>;
  return bytes == 8 ? multiply_stacks<std::uint64_t> : nullptr;
}

// The product of two matrices of narrow integers, one of which is a vector.
template <typename T, typename Sum>
bool multiply_narrow(PyArrayObject* x, PyArrayObject* y, void* results) {
  const Matrix<T> a = matrix_of<T>(x, 0), b = matrix_of<T>(y, 0);
  auto* out = static_cast<Sum*>(results);
  if (b.columns == 1) return multiply_narrow_vector(a, b.first, b.down, out);
  const Matrix<T> turned{b.first, b.columns, b.rows, b.across, b.down};
  return a.rows == 1 && multiply_narrow_vector(turned, a.first, a.across, out);
}

template <typename Sum>
auto narrow_multiplier_of(int type) -> bool (*)(PyArrayObject*, PyArrayObject*, void*) {
  switch (type) {
    case NPY_INT8:
      return multiply_narrow<std::int8_t, Sum>;
    case NPY_UINT8:
      return multiply_narrow<std::uint8_t, Sum>;
    case NPY_INT16:
      return multiply_narrow<std::int16_t, Sum>;
    case NPY_UINT16:
      return multiply_narrow<std::uint16_t, Sum>;
    default:
      return nullptr;
  }
}

// A matrix or a stack whose elements are where a pointer to them may point.
nb::object plain(nb::handle given) {
  auto* array = reinterpret_cast<PyArrayObject*>(given.ptr());
  if (!PyArray_Check(given.ptr()) || (PyArray_NDIM(array) != 2 && PyArray_NDIM(array) != 3))
    throw nb::type_error("a product of matrices takes arrays of two or three axes");
  bool is_plain = PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array);
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis)
    is_plain = is_plain && PyArray_STRIDE(array, axis) % PyArray_ITEMSIZE(array) == 0;
  if (is_plain) return nb::borrow(given);
  return checked(PyArray_FROM_OF(given.ptr(), NPY_ARRAY_CARRAY_RO));
}

nb::object product(nb::handle x, nb::handle y) {
  const nb::object left = plain(x), right = plain(y);
  auto* a = reinterpret_cast<PyArrayObject*>(left.ptr());
  auto* b = reinterpret_cast<PyArrayObject*>(right.ptr());
  const int type = PyArray_TYPE(a), axis = PyArray_NDIM(a) - 2;
  const auto multiply = multiplier_of(a);
  if (type != PyArray_TYPE(b) || multiply == nullptr)
    throw nb::type_error("a product of matrices not of one dtype of floats or integers");
  if (axis != PyArray_NDIM(b) - 2 || PyArray_DIM(a, axis + 1) != PyArray_DIM(b, axis) ||
      (axis == 1 && PyArray_DIM(a, 0) != PyArray_DIM(b, 0)))
    throw nb::value_error("a product of matrices whose sizes do not fit");
  const npy_intp count = axis == 1 ? PyArray_DIM(a, 0) : 1;
  npy_intp shape[] = {count, PyArray_DIM(a, axis), PyArray_DIM(b, axis + 1)};
  nb::object result = checked(PyArray_EMPTY(axis + 2, shape + 1 - axis, type, 0));
  void* out = PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.ptr()));
  const process_end::Call call;  // the library is taken down at the end of the process
  const process_end::OthersRun others_run;
  multiply(a, b, count, out);
  return result;
}

// The product of a matrix of narrow integers and a vector, or None where it is not one.
nb::object narrow_product(nb::handle x, nb::handle y, bool is_wide) {
  const nb::object left = plain(x), right = plain(y);
  auto* a = reinterpret_cast<PyArrayObject*>(left.ptr());
  auto* b = reinterpret_cast<PyArrayObject*>(right.ptr());
  const int type = PyArray_TYPE(a);
  const auto multiply = is_wide ? narrow_multiplier_of<std::uint32_t>(type)
                                : narrow_multiplier_of<std::uint16_t>(type);
  if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || type != PyArray_TYPE(b) ||
      multiply == nullptr || PyArray_DIM(a, 1) != PyArray_DIM(b, 0))
    return nb::none();
  npy_intp shape[] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
  nb::object result = checked(PyArray_EMPTY(2, shape, is_wide ? NPY_INT32 : NPY_INT16, 0));
  void* out = PyArray_DATA(reinterpret_cast<PyArrayObject*>(result.ptr()));
  const process_end::Call call;  // the library is taken down at the end of the process
  const process_end::OthersRun others_run;
  return multiply(a, b, out) ? result : nb::none();
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("product", &product, nb::arg("x"), nb::arg("y"),
             "The product of two matrices of float32, float64 or integers of 32 or 64 bits, or of "
             "each pair of two stacks, by several threads.");
  module.def(
      "narrow_product", &narrow_product, nb::arg("x"), nb::arg("y"), nb::arg("is_wide"),
      "The product of a matrix of integers of 8 or 16 bits and a vector of the same, in "
      "int32 if it is wide, or in int16, where it wraps around; None where it is another one.");
}

}  // namespace morphax::products
