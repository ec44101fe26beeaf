// Members of an array along its first axis, taken where numbers say.
//
// NumPy first makes wide integers of the numbers, and asks each of them twice where it lies if what
// is outside is to be told from what is not.  The twin is `taking` of
// `morphax/lax/indexing/element_places.py`.
#include "taking.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels.h"
#include "objects.h"
#include "process_end.h"
#include "workers.h"

namespace morphax::taking {

namespace {

struct Members {
  const char* data;
  std::int64_t count;
  std::size_t bytes;  // of each
  const char* fill;   // what stands for members that do not exist; null: the nearest one does
};

// `kBytes` of a member are known while compiling, unless it is 0.
template <std::size_t kBytes, typename Index>
void take(const Members& members, const Index* places, std::int64_t count, char* out) {
  const std::size_t bytes = kBytes != 0 ? kBytes : members.bytes;
  const auto last = static_cast<Index>(members.count - 1);
  for (std::int64_t i = 0; i < count; ++i, out += bytes) {
    const Index place = places[i];
    const Index near = place < 0 ? 0 : place > last ? last : place;
    const char* from = members.data + static_cast<std::size_t>(near) * bytes;
    if (members.fill != nullptr && near != place) from = members.fill;
    std::memcpy(out, from, bytes);
  }
}

// Of 32 bits: vectors have loads from such places.
MORPHAX_VECTORIZED_INTEGERS
void take_words(const std::uint32_t* data, std::int32_t last, const std::int32_t* places,
                std::int64_t count, std::uint32_t fill, std::uint32_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t place = places[i], near = place < 0 ? 0 : place > last ? last : place;
    const std::uint32_t word = data[near];
    out[i] = near != place ? fill : word;
  }
}
MORPHAX_VECTORIZED_INTEGERS
void take_near_words(const std::uint32_t* data, std::int32_t last, const std::int32_t* places,
                     std::int64_t count, std::uint32_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t place = places[i], near = place < 0 ? 0 : place > last ? last : place;
    out[i] = data[near];
  }
}

template <typename Index>
void take_any(const Members& members, const Index* places, std::int64_t count, char* out) {
  if constexpr (sizeof(Index) == 4) {
    if (members.bytes == 4 && members.count <= std::numeric_limits<Index>::max()) {
      const auto* data = reinterpret_cast<const std::uint32_t*>(members.data);
      const auto last = static_cast<Index>(members.count - 1);
      auto* words = reinterpret_cast<std::uint32_t*>(out);
      if (members.fill == nullptr) return take_near_words(data, last, places, count, words);
      std::uint32_t fill;
      std::memcpy(&fill, members.fill, sizeof(fill));
      return take_words(data, last, places, count, fill, words);
    }
  }
  switch (members.bytes) {
    case 1:
      return take<1>(members, places, count, out);
    case 2:
      return take<2>(members, places, count, out);
    case 4:
      return take<4>(members, places, count, out);
    case 8:
      return take<8>(members, places, count, out);
    default:
      return take<0>(members, places, count, out);
  }
}

template <typename Index>
void take_all(const Members& members, const void* places, std::int64_t count, char* out) {
  const std::int64_t elements = count * static_cast<std::int64_t>((members.bytes + 3) / 4);
  in_pieces(count, elements, [&](std::int64_t first, std::int64_t end) {
    take_any(members, static_cast<const Index*>(places) + first, end - first,
             out + static_cast<std::size_t>(first) * members.bytes);
  });
}

PyArrayObject* array_of(nb::handle given) {
  if (!PyArray_Check(given.ptr())) throw nb::type_error("members are taken of arrays");
  return reinterpret_cast<PyArrayObject*>(given.ptr());
}

nb::object in_order(nb::handle given) {
  array_of(given);
  return checked(PyArray_FROM_OF(given.ptr(), NPY_ARRAY_CARRAY_RO));
}

// The members of `array` at `places`; `fill` is the bytes of an element, or None.
nb::object taken(nb::handle given, nb::handle given_places, nb::object fill) {
  const nb::object kept_array = in_order(given), kept_places = in_order(given_places);
  PyArrayObject* array = array_of(kept_array);
  PyArrayObject* places = array_of(kept_places);
  const int type = PyArray_TYPE(places);
  const bool is_wide = PyArray_ITEMSIZE(places) == 8;
  if (PyArray_NDIM(array) == 0 || PyArray_DIM(array, 0) == 0 || !PyTypeNum_ISSIGNED(type) ||
      (!is_wide && PyArray_ITEMSIZE(places) != 4))
    throw nb::value_error("members of an array without any, or at places of another dtype");
  std::vector<npy_intp> shape(PyArray_DIMS(places), PyArray_DIMS(places) + PyArray_NDIM(places));
  shape.insert(shape.end(), PyArray_DIMS(array) + 1, PyArray_DIMS(array) + PyArray_NDIM(array));
  PyArray_Descr* descr = PyArray_DESCR(array);
  Py_INCREF(descr);
  nb::object result =
      checked(PyArray_Empty(static_cast<int>(shape.size()), shape.data(), descr, 0));
  const std::int64_t members = PyArray_DIM(array, 0);
  const auto bytes = static_cast<std::size_t>(PyArray_NBYTES(array) / members);
  std::vector<char> filled;
  if (!fill.is_none()) {
    const auto element = nb::cast<nb::bytes>(fill);
    if (static_cast<npy_intp>(element.size()) != PyArray_ITEMSIZE(array))
      throw nb::value_error("a fill value of another size");
    for (std::size_t i = 0; i < bytes; ++i) filled.push_back(element.c_str()[i % element.size()]);
  }
  const Members from{PyArray_BYTES(array), members, bytes,
                     fill.is_none() ? nullptr : filled.data()};
  const std::int64_t count = PyArray_SIZE(places);
  const void* numbers = PyArray_DATA(places);
  char* out = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(result.ptr()));
  const process_end::OthersRun others_run;
  if (is_wide) {
    take_all<std::int64_t>(from, numbers, count, out);
  } else {
    take_all<std::int32_t>(from, numbers, count, out);
  }
  return result;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("taken", &taken, nb::arg("array"), nb::arg("places"), nb::arg("fill").none(),
             "The members along the first axis at these places; where there are none the bytes "
             "of an element or, for None, the nearest one.");
}

}  // namespace morphax::taking
