// Members of an array along its first axis, taken or changed where numbers say, and the numbers of
// windows along several axes.
//
// NumPy first makes wide integers of the numbers, and asks each of them twice where it lies if what
// is outside is to be told from what is not; along several axes it goes through as many numbers at
// a time as there are axes.  The twins are in `morphax/lax/indexing/element_places.py`, and in
// `scatter_rules.py` that of changes, which come one after the other.
#include "taking.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
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

// Where windows start: numbers for each along all axes, next to each other.
template <typename Row>
struct Starts {
  std::vector<Row> limits;   // the largest start along each axis
  std::vector<Row> weights;  // the rows from one start to the next
  bool marks;                // whether what starts outside is told of
};

// Some windows at a time, axis by axis.  `kAxes` are known while compiling, unless it is 0.
template <std::size_t kAxes, typename Index, typename Row>
MORPHAX_VECTORIZED_INTEGERS void number_windows(const Starts<Row>& starts, const Index* places,
                                                std::size_t count, Row* rows) {
  constexpr std::size_t kBlock = 512;
  const std::size_t axes = kAxes != 0 ? kAxes : starts.limits.size();
  Row is_outside[kBlock];
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t size = std::min(kBlock, count - first);
    Row* out = rows + first;
    std::fill_n(out, size, Row{0});
    std::fill_n(is_outside, size, Row{0});
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const Index* asked = places + first * axes + axis;
      const Row limit = starts.limits[axis], weight = starts.weights[axis];
      for (std::size_t i = 0; i < size; ++i) {
        const Row place = asked[i * axes], near = place < 0 ? 0 : place > limit ? limit : place;
        out[i] += near * weight;
        is_outside[i] |= near ^ place;
      }
    }
    if (!starts.marks) continue;
    for (std::size_t i = 0; i < size; ++i)
      out[i] = is_outside[i] != 0 ? std::numeric_limits<Row>::min() : out[i];
  }
}

template <typename Index, typename Row>
nb::object numbered(PyArrayObject* places, const Starts<Row>& starts) {
  const int type = sizeof(Row) == 4 ? NPY_INT32 : NPY_INT64;
  nb::object result =
      checked(PyArray_SimpleNew(PyArray_NDIM(places) - 1, PyArray_DIMS(places), type));
  auto* rows = static_cast<Row*>(PyArray_DATA(array_of(result)));
  const auto* numbers = static_cast<const Index*>(PyArray_DATA(places));
  const std::int64_t count = PyArray_SIZE(array_of(result));
  const std::size_t axes = starts.limits.size();
  const process_end::OthersRun others_run;
  in_pieces(count, PyArray_SIZE(places), [&](std::int64_t first, std::int64_t end) {
    const auto begin = static_cast<std::size_t>(first),
               size = static_cast<std::size_t>(end) - begin;
    const Index* from = numbers + begin * axes;
    if (axes == 2) return number_windows<2>(starts, from, size, rows + begin);
    if (axes == 3) return number_windows<3>(starts, from, size, rows + begin);
    number_windows<0>(starts, from, size, rows + begin);
  });
  return result;
}

template <typename Row>
std::vector<Row> copied(PyArrayObject* array) {
  const auto* data = static_cast<const Row*>(PyArray_DATA(array));
  return {data, data + PyArray_SIZE(array)};
}

// The rows at which windows start, of the dtype of limits and weights or that of places, whichever
// is wider.
nb::object starting_rows(nb::handle given_places, nb::handle given_limits, nb::handle given_weights,
                         bool marks) {
  const auto type_of = [](nb::handle given) {
    PyArray_Descr* descr = PyArray_DESCR(array_of(given));
    const bool is_known = PyTypeNum_ISSIGNED(descr->type_num) && PyDataType_ELSIZE(descr) >= 4;
    if (!is_known) throw nb::value_error("windows are numbered by integers of 32 or 64 bits");
    return PyDataType_ELSIZE(descr) == 4 ? NPY_INT32 : NPY_INT64;
  };
  const int asked = type_of(given_places), counted = type_of(given_weights);
  const bool is_narrow = asked == NPY_INT32 && counted == NPY_INT32;
  const auto of_type = [](nb::handle given, int type) {
    return checked(PyArray_FROM_OTF(given.ptr(), type, NPY_ARRAY_CARRAY_RO));
  };
  const int type = is_narrow ? NPY_INT32 : NPY_INT64;
  const nb::object kept_places = of_type(given_places, asked),
                   kept_limits = of_type(given_limits, type),
                   kept_weights = of_type(given_weights, type);
  PyArrayObject *places = array_of(kept_places), *limits = array_of(kept_limits),
                *weights = array_of(kept_weights);
  const int ndim = PyArray_NDIM(places);
  const npy_intp axes = ndim == 0 ? -1 : PyArray_DIM(places, ndim - 1);
  if (PyArray_SIZE(limits) != axes || PyArray_SIZE(weights) != axes)
    throw nb::value_error("one limit and one weight for each axis are wanted");
  if (is_narrow) {
    const Starts<std::int32_t> starts{copied<std::int32_t>(limits), copied<std::int32_t>(weights),
                                      marks};
    return numbered<std::int32_t>(places, starts);
  }
  const Starts<std::int64_t> starts{copied<std::int64_t>(limits), copied<std::int64_t>(weights),
                                    marks};
  if (asked == NPY_INT32) return numbered<std::int32_t>(places, starts);
  return numbered<std::int64_t>(places, starts);
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

// Calls `change(place, i)` for all numbers, of which those outside are dropped or moved inside.
template <typename Index, typename Change>
void change_each(PyArrayObject* places, std::int64_t members, bool drops, Change change) {
  const auto* numbers = static_cast<const Index*>(PyArray_DATA(places));
  const std::int64_t count = PyArray_SIZE(places), last = members - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = numbers[i], near = place < 0 ? 0 : place > last ? last : place;
    if (near != place && drops) continue;
    change(static_cast<std::size_t>(near), static_cast<std::size_t>(i));
  }
}

// What is changed where, by which updates.
struct Changes {
  PyArrayObject* places;
  std::int64_t members;
  std::size_t bytes;  // of a member
  bool drops;
  char* target;
  const char* updates;

  template <typename Change>
  void each(Change change) const {
    if (PyArray_ITEMSIZE(places) == 8) {
      change_each<std::int64_t>(places, members, drops, change);
    } else {
      change_each<std::int32_t>(places, members, drops, change);
    }
  }

  template <std::size_t kBytes>
  void replace() const {
    const std::size_t size = kBytes != 0 ? kBytes : bytes;
    each([&, size](std::size_t place, std::size_t i) {
      std::memcpy(target + place * size, updates + i * size, size);
    });
  }

  template <typename Number>
  void add() const {
    const std::size_t size = bytes / sizeof(Number);
    auto* sums = reinterpret_cast<Number*>(target);
    const auto* summands = reinterpret_cast<const Number*>(updates);
    if (size == 1) {
      each([=](std::size_t place, std::size_t i) { sums[place] += summands[i]; });
      return;
    }
    each([=](std::size_t place, std::size_t i) {
      for (std::size_t k = 0; k < size; ++k) sums[place * size + k] += summands[i * size + k];
    });
  }
};

void replace(const Changes& changes) {
  switch (changes.bytes) {
    case 1:
      return changes.replace<1>();
    case 2:
      return changes.replace<2>();
    case 4:
      return changes.replace<4>();
    case 8:
      return changes.replace<8>();
    default:
      return changes.replace<0>();
  }
}

// False for dtypes that have no sums here.
bool add(const Changes& changes, int type, npy_intp itemsize) {
  const bool is_whole = PyTypeNum_ISINTEGER(type);
  if (type == NPY_FLOAT) {
    changes.add<float>();
  } else if (type == NPY_DOUBLE) {
    changes.add<double>();
  } else if (is_whole && itemsize == 4) {
    changes.add<std::uint32_t>();
  } else if (is_whole && itemsize == 8) {
    changes.add<std::uint64_t>();
  } else {
    return false;
  }
  return true;
}

// Members of `target` replaced by updates, or updates added to them, one after the other; whether
// that is done, for it is not of all dtypes.
bool changed(nb::handle target, nb::handle given_places, nb::handle given_updates, bool adds,
             bool drops) {
  PyArrayObject* out = array_of(target);
  const nb::object kept_places = in_order(given_places), kept_updates = in_order(given_updates);
  PyArrayObject *places = array_of(kept_places), *updates = array_of(kept_updates);
  const bool is_known =
      PyArray_ISCARRAY(out) && PyArray_EquivTypes(PyArray_DESCR(out), PyArray_DESCR(updates)) &&
      !PyDataType_REFCHK(PyArray_DESCR(out)) && PyTypeNum_ISSIGNED(PyArray_TYPE(places)) &&
      (PyArray_ITEMSIZE(places) == 4 || PyArray_ITEMSIZE(places) == 8);
  if (!is_known || PyArray_NDIM(out) == 0 || PyArray_SIZE(out) == 0) return false;
  const npy_intp members = PyArray_DIM(out, 0), size = PyArray_SIZE(out) / members;
  if (PyArray_SIZE(updates) != PyArray_SIZE(places) * size)
    throw nb::value_error("one update for each number is wanted");
  const Changes changes{places,
                        members,
                        static_cast<std::size_t>(PyArray_NBYTES(out) / members),
                        drops,
                        PyArray_BYTES(out),
                        PyArray_BYTES(updates)};
  if (adds) return add(changes, PyArray_TYPE(out), PyArray_ITEMSIZE(out));
  replace(changes);
  return true;
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0) throw nb::python_error();
  module.def("taken", &taken, nb::arg("array"), nb::arg("places"), nb::arg("fill").none(),
             "The members along the first axis at these places; where there are none the bytes "
             "of an element or, for None, the nearest one.");
  module.def("changed", &changed, nb::arg("target"), nb::arg("places"), nb::arg("updates"),
             nb::arg("adds"), nb::arg("drops"),
             "Whether members along the first axis have been replaced by updates, or updates added "
             "to them, in their order; those at places outside are dropped or moved inside.");
  module.def("starting_rows", &starting_rows, nb::arg("places"), nb::arg("limits"),
             nb::arg("weights"), nb::arg("marks"),
             "The rows of an array at which windows start: those nearest to where they are asked "
             "to, or negative numbers where that is outside and `marks`.");
}

}  // namespace morphax::taking
