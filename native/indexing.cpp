// Elements of an Array that an index names, read or written at once.  The twins are `known_part`
// and `known_update` in morphax/engines/reference/known_parts.py: the same tests, the same results.
#include "indexing.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <cmath>
#include <cstring>

#include "eager_arrays.h"
#include "process_end.h"

namespace morphax::indexing {

namespace nb = nanobind;

namespace {

using eager::allow_short_ways;
using eager::context;
using eager::core;

// The twin has them under the same names.
constexpr npy_intp kFew = 1 << 12;
constexpr npy_intp kMost = 1 << 18;
constexpr double kEverywhere = 100;
constexpr Py_ssize_t kMostParts = 32;

PyArrayObject* numpy(PyObject* x) { return reinterpret_cast<PyArrayObject*>(x); }

bool is_few(const PyArrayObject* x) { return PyArray_SIZE(const_cast<PyArrayObject*>(x)) <= kFew; }

// The numbers of an Array at home, of one of NumPy's own dtypes; invalid of anything else.
nb::object numbers_of(PyObject* x) {
  if (!Py_IS_TYPE(x, core.array) || core.committed(x) != Py_False) return {};
  nb::object host = nb::borrow(core.host(x));
  if (host.is_none()) host = call_method(x, "to_host");
  if (!PyArray_CheckExact(host.ptr())) return {};
  // What else there is (random keys, numbers of a few bits) has another form in memory than its
  // type.
  const int type = PyArray_TYPE(numpy(host.ptr()));
  PyObject* dtype = core.dtype(core.aval(x));
  if (!PyTypeNum_ISNUMBER(type) && !PyTypeNum_ISBOOL(type)) return {};
  if (!PyArray_DescrCheck(dtype) || reinterpret_cast<PyArray_Descr*>(dtype)->type_num != type) {
    return {};
  }
  return host;
}

// Whether few elements of arrays may be read and written at once, under the settings in force.
bool may_be_short() {
  const nb::object settings = context.eager_settings();
  return allow_short_ways(settings) && core.known_parts(settings) == Py_True;
}

bool is_bound(PyObject* x) { return x == Py_None || PyLong_CheckExact(x); }

bool is_slice(PyObject* part) {
  if (!PySlice_Check(part)) return false;
  const auto* slice = reinterpret_cast<PySliceObject*>(part);
  return is_bound(slice->start) && is_bound(slice->stop) && is_bound(slice->step);
}

// An index as NumPy is to be given it, and how many elements the arrays in it have.
struct Index {
  nb::object parts;
  bool has_arrays = false;
  npy_intp places = 0;
};

// Adds a part of an index; false if it is none of those that mean to NumPy what they mean here.
bool add_part(PyObject* part, References& parts, Index& index, bool& has_rest) {
  if (PyLong_CheckExact(part) || part == Py_None || is_slice(part)) {
    parts.push(part);
    return true;
  }
  if (part == Py_Ellipsis) {
    has_rest = true;
    parts.push(part);
    return true;
  }
  nb::object places = numbers_of(part);
  if (!places.is_valid()) return false;
  PyArrayObject* array = numpy(places.ptr());
  const bool is_mask = PyArray_ISBOOL(array) && PyArray_NDIM(array) > 0;
  if (!is_few(array) || !(is_mask || PyArray_ISINTEGER(array))) return false;
  index.has_arrays = true;
  index.places += PyArray_SIZE(array);
  parts.push(std::move(places));
  return true;
}

// Invalid parts if an index has other ones than are understood.
Index read_index(PyObject* given) {
  Index index;
  References parts;
  bool has_rest = false;
  const bool is_tuple = PyTuple_CheckExact(given);
  const Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(given) : 1;
  if (count > kMostParts) return index;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* part = is_tuple ? PyTuple_GET_ITEM(given, i) : given;
    if (!add_part(part, parts, index, has_rest)) return index;
  }
  // So that single elements are arrays, too.
  if (!has_rest) parts.push(Py_Ellipsis);
  index.parts = tuple_of(parts.data(), parts.size());
  return index;
}

// What NumPy reads; invalid where it raises, for out of bounds other elements are meant here.
nb::object item_of(PyObject* numbers, const Index& index) {
  nb::object found = nb::steal(PyObject_GetItem(numbers, index.parts.ptr()));
  if (!found.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
    PyErr_Clear();
  }
  return found;
}

bool is_all(PyArrayObject* part, PyArrayObject* whole) {
  return PyArray_DATA(part) == PyArray_DATA(whole) && PyArray_SAMESHAPE(part, whole) &&
         PyArray_CompareLists(PyArray_STRIDES(part), PyArray_STRIDES(whole), PyArray_NDIM(part));
}

// The aval of elements of an Array; invalid if there has been none of the shape yet.
nb::object aval_of_part(PyObject* avals, PyObject* aval, PyArrayObject* part) {
  const nb::object shape =
      checked(PyArray_IntTupleFromIntp(PyArray_NDIM(part), PyArray_DIMS(part)));
  PyObject* const key[] = {aval, shape.ptr()};
  PyObject* found = PyDict_GetItemWithError(avals, tuple_of(key, 2).ptr());
  if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
  return nb::borrow(found);
}

// `x[index]`; None where the index is to be read with more care, NotImplemented where the aval of
// the result is not known.
nb::object known_part(PyObject* avals, PyObject* x, PyObject* given) {
  if (!Py_IS_TYPE(x, core.array) || !may_be_short()) return nb::none();
  const nb::object numbers = numbers_of(x);
  if (!numbers.is_valid()) return nb::none();
  const Index index = read_index(given);
  if (!index.parts.is_valid()) return nb::none();
  PyArrayObject* whole = numpy(numbers.ptr());
  // What arrays read has as many elements at most; of none NumPy says less about the index.
  const npy_intp most = index.places * PyArray_SIZE(whole);
  if (index.has_arrays && (most == 0 || most > kMost)) return nb::none();
  nb::object found = item_of(numbers.ptr(), index);
  if (!found.is_valid() || !PyArray_CheckExact(found.ptr())) return nb::none();
  PyArrayObject* part = numpy(found.ptr());
  if (!is_few(part) || is_all(part, whole)) return nb::none();
  nb::object aval = aval_of_part(avals, core.aval(x), part);
  if (!aval.is_valid()) return nb::borrow(Py_NotImplemented);
  // Elements are copied: a view would keep all of the array in memory.
  const bool is_own = index.has_arrays && PyArray_IS_C_CONTIGUOUS(part);
  if (!is_own) found = checked(PyArray_NewCopy(part, NPY_CORDER));
  return eager::new_array(aval.ptr(), std::move(found));
}

// A number that an array's dtype holds, as an array of it; invalid of others.
nb::object as_element(PyObject* x, PyArrayObject* array) {
  double value = 0;
  if (PyLong_CheckExact(x)) {
    int overflow = 0;
    const long whole = PyLong_AsLongAndOverflow(x, &overflow);
    if (overflow != 0 || !(PyArray_ISINTEGER(array) || PyArray_ISFLOAT(array))) return {};
    if (whole < 0 && PyArray_ISUNSIGNED(array)) return {};
    value = static_cast<double>(whole);
  } else if (PyFloat_CheckExact(x) && PyArray_ISFLOAT(array)) {
    value = PyFloat_AS_DOUBLE(x);
  } else {
    return {};
  }
  if (!(std::fabs(value) <= kEverywhere)) return {};
  PyArray_Descr* dtype = PyArray_DESCR(array);
  Py_INCREF(dtype);
  return checked(PyArray_FromAny(x, dtype, 0, 0, 0, nullptr));
}

// What is written into elements of an array, or combined with them; invalid if that is not clear.
nb::object as_update(PyObject* values, PyArrayObject* array, PyArrayObject* places) {
  if (!Py_IS_TYPE(values, core.array)) return as_element(values, array);
  nb::object numbers = numbers_of(values);
  if (!numbers.is_valid()) return {};
  PyArrayObject* given = numpy(numbers.ptr());
  const bool fits = PyArray_NDIM(given) == 0 || PyArray_SAMESHAPE(given, places);
  if (!fits || PyArray_TYPE(given) != PyArray_TYPE(array)) return {};
  return numbers;
}

// Elements of `places` become, or are combined with, `values`.
void write(PyObject* places, PyObject* function, const nb::object& values) {
  if (function == Py_None) {
    check_status(PyArray_CopyInto(numpy(places), numpy(values.ptr())));
    return;
  }
  eager::FloatErrorsIgnored ignored;
  call(function, nb::handle(places), values, nb::handle(places));
  ignored.end();
}

// `x.at[index]` with `values` set, or combined by a function of NumPy's; None where that is to be
// done with more care.
nb::object known_update(PyObject* x, PyObject* given, PyObject* function, PyObject* values) {
  if (!Py_IS_TYPE(x, core.array) || !may_be_short()) return nb::none();
  const nb::object numbers = numbers_of(x);
  if (!numbers.is_valid() || !is_few(numpy(numbers.ptr()))) return nb::none();
  // Sums and products of truth values and of complex numbers are not NumPy's.
  PyArrayObject* array = numpy(numbers.ptr());
  const bool can_combine = PyArray_ISINTEGER(array) || PyArray_ISFLOAT(array);
  if (function != Py_None && !can_combine) return nb::none();
  const Index index = read_index(given);
  if (!index.parts.is_valid() || index.has_arrays) return nb::none();
  const nb::object changed = checked(PyArray_NewCopy(array, NPY_CORDER));
  const nb::object places = item_of(changed.ptr(), index);
  if (!places.is_valid() || !PyArray_CheckExact(places.ptr())) return nb::none();
  if (PyArray_SIZE(numpy(places.ptr())) == 0) return nb::none();
  const nb::object update = as_update(values, array, numpy(places.ptr()));
  if (!update.is_valid()) return nb::none();
  write(places.ptr(), function, update);
  return eager::new_array(core.aval(x), changed);
}

PyObject* known_part_of_python(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return guarded([&] {
    const process_end::Call under_way;
    return known_part(arguments[0], arguments[1], arguments[2]);
  });
}

PyObject* known_update_of_python(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return guarded([&] {
    const process_end::Call under_way;
    return known_update(arguments[0], arguments[1], arguments[2], arguments[3]);
  });
}

bool import_numpy() { return _import_array() >= 0; }

}  // namespace

void bind(nb::module_& module) {
  if (!import_numpy()) throw nb::python_error();
  static PyMethodDef functions[] = {
      {"known_part",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&known_part_of_python)),
       METH_FASTCALL, "Elements of an Array."},
      {"known_update",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&known_update_of_python)),
       METH_FASTCALL, "An Array with other elements."},
      {nullptr, nullptr, 0, nullptr},
  };
  check_status(PyModule_AddFunctions(module.ptr(), functions));
}

}  // namespace morphax::indexing
