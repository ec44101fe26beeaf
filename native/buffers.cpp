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
  Slot host, aval;                   // of `Array`
  PyObject* dtype = nullptr;         // the name
  PyObject* unnamed = nullptr;       // what is wrong with a dtype of ml_dtypes
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
  known = {kept_type(cls),    kept_type(of_numpy),    Slot(cls, "_host"),
           Slot(cls, "aval"), kept(nb::str("dtype")), kept(unnamed)};
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
