// Python's buffer protocol for arrays: the memory of their numbers, to be read as bytes.  The twin
// is the method `Array.__buffer__`, which the interpreter asks itself from Python 3.12 on (PEP
// 688).
#include "buffers.h"

#include <numpy/ndarraytypes.h>

#include "objects.h"

namespace morphax::buffers {

namespace {

struct Classes {
  PyTypeObject* array = nullptr;     // `morphax.array.Array`
  PyTypeObject* of_numpy = nullptr;  // `numpy.ndarray`
  PyTypeObject* dtypes = nullptr;    // `numpy.dtype`
  Slot host, buffer, place, aval;    // of `Array`
  PyObject* dtype = nullptr;         // the name, as the next ones
  PyObject* num_devices = nullptr;
  PyObject* is_deleted = nullptr;
  PyObject* is_ready = nullptr;
  PyObject* unnamed = nullptr;  // what is wrong with a dtype of ml_dtypes
};

Classes known;

// The numbers as they lie in host memory, if they are there and are what the array says: keys are
// no numbers, though they are stored as such.
PyArrayObject* plain_host(PyObject* self) {
  PyObject* host = known.host(self);
  PyObject* aval = known.aval(self);
  if (host == nullptr || aval == nullptr || Py_TYPE(host) != known.of_numpy) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(host);
  const nb::object dtype = checked(PyObject_GetAttr(aval, known.dtype));
  return dtype.ptr() == reinterpret_cast<PyObject*>(PyArray_DESCR(array)) ? array : nullptr;
}

bool says(PyObject* self, PyObject* method, PyObject* answer) {
  PyObject* const arguments[] = {self};
  return checked(PyObject_VectorcallMethod(method, arguments, 1, nullptr)).is(answer);
}

// The device buffer of numbers that are computed and lie on one device, if Python knows their
// dtype: jaxlib offers its memory where that is the host's, in the order of the axes.
PyObject* readable_buffer(PyObject* self) {
  PyObject* buffer = known.buffer(self);
  PyObject* aval = known.aval(self);
  PyObject* place = known.place(self);
  if (known.host(self) != Py_None || buffer == nullptr || buffer == Py_None) return nullptr;
  if (aval == nullptr || place == nullptr || place == Py_None) return nullptr;
  const nb::object dtype = checked(PyObject_GetAttr(aval, known.dtype));
  if (!PyObject_TypeCheck(dtype.ptr(), known.dtypes)) return nullptr;
  const auto* descr = reinterpret_cast<PyArray_Descr*>(dtype.ptr());
  if (descr->type_num >= NPY_USERDEF || descr->kind == 'V') return nullptr;
  const nb::object devices = checked(PyObject_GetAttr(place, known.num_devices));
  if (PyLong_AsLong(devices.ptr()) != 1) return nullptr;
  // jaxlib 0.10 ends the process when a deleted buffer is asked whether it is ready.
  if (!says(buffer, known.is_deleted, Py_False)) return nullptr;
  return says(buffer, known.is_ready, Py_True) ? buffer : nullptr;
}

// The object that owns the view keeps the memory: NumPy's array, or the memoryview of the twin.
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  try {
    if (PyArrayObject* host = plain_host(self)) {
      // NumPy asks for the memory before it asks for an array, so this refusal is to be fast.
      if (PyArray_DESCR(host)->type_num >= NPY_USERDEF) {
        PyErr_SetObject(PyExc_BufferError, known.unnamed);
        return -1;
      }
      PyArray_CLEARFLAGS(host, NPY_ARRAY_WRITEABLE);
      if (PyObject_GetBuffer(reinterpret_cast<PyObject*>(host), view, flags) == 0) return 0;
      PyErr_Clear();  // the twin says what is wrong
    }
    if (PyObject* buffer = readable_buffer(self)) {
      if (PyObject_GetBuffer(buffer, view, flags) == 0) return 0;
      PyErr_Clear();
    }
    const nb::object memory = call_method(self, "__buffer__", nb::int_(flags));
    return PyObject_GetBuffer(memory.ptr(), view, flags);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return -1;
}

void offer(nb::type_object cls, nb::type_object of_numpy, nb::str unnamed) {
  const nb::object dtypes = nb::module_::import_("numpy").attr("dtype");
  known = {kept_type(cls),
           kept_type(of_numpy),
           kept_type(nb::borrow<nb::type_object>(dtypes)),
           Slot(cls, "_host"),
           Slot(cls, "_buffer"),
           Slot(cls, "place"),
           Slot(cls, "aval"),
           kept(nb::str("dtype")),
           kept(nb::str("num_devices")),
           kept(nb::str("is_deleted")),
           kept(nb::str("is_ready")),
           kept(unnamed)};
  known.array->tp_as_buffer->bf_getbuffer = get_buffer;
  PyType_Modified(known.array);
}

}  // namespace

void bind(nb::module_& module) {
  module.def(
      "offer", &offer, nb::arg("array"), nb::arg("of_numpy"), nb::arg("unnamed"),
      "Let instances of `Array`, whose host memory is an `numpy.ndarray`, be read as bytes.");
}

}  // namespace morphax::buffers
