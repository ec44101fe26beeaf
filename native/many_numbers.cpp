// Functions of NumPy on many numbers, by several threads.
//
// NumPy computes with one thread.  Here its own inner loop is called for parts of the arrays
// (`workers.h`).  A part begins a whole number of vectors after the first element, so each element
// is computed as in one piece, to the bit; the last elements are in the last part.  The twin is the
// function itself, which also computes what does not lie in order.
#include "many_numbers.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "objects.h"
#include "process_end.h"
#include "ufunc_loops.h"
#include "workers.h"

namespace morphax::many_numbers {

namespace {

constexpr int kMostOperands = 3;

struct Loop {
  nb::object function;
  UfuncLoop elements;
  int operands = 0;
  int types[kMostOperands] = {};
};

// Where the elements of a call are: those of the operands, then those of the result.
struct Places {
  char* first[kMostOperands + 1];
  npy_intp steps[kMostOperands + 1];
};

void run(const Loop& loop, const Places& places, std::int64_t begin, std::int64_t end) {
  char* at[kMostOperands + 1];
  for (int i = 0; i <= loop.operands; ++i) at[i] = places.first[i] + begin * places.steps[i];
  const auto count = static_cast<npy_intp>(end - begin);
  loop.elements.inner(at, &count, places.steps, loop.elements.data);
}

// Whether an operand is as the loop takes it: of its dtype, in order, of one shape or a number.
bool fits(PyObject* operand, int type, PyArrayObject*& whole) {
  if (!PyArray_CheckExact(operand)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(operand);
  if (PyArray_TYPE(array) != type || !PyArray_ISCARRAY_RO(array)) return false;
  if (PyArray_NDIM(array) == 0) return true;
  if (whole == nullptr) whole = array;
  return PyArray_SAMESHAPE(array, whole);
}

nb::object call(const Loop& loop, PyObject* const* operands, Py_ssize_t given) {
  PyArrayObject* whole = nullptr;
  bool all_fit = given == loop.operands && Workers::num_threads() > 1;
  for (int i = 0; all_fit && i < loop.operands; ++i)
    all_fit = fits(operands[i], loop.types[i], whole);
  if (!all_fit || whole == nullptr) {
    return checked(PyObject_Vectorcall(loop.function.ptr(), operands,
                                       static_cast<std::size_t>(given), nullptr));
  }
  nb::object result =
      checked(PyArray_EMPTY(PyArray_NDIM(whole), PyArray_DIMS(whole), loop.elements.result, 0));
  Places places{};
  for (int i = 0; i <= loop.operands; ++i) {
    auto* array = reinterpret_cast<PyArrayObject*>(i < loop.operands ? operands[i] : result.ptr());
    places.first[i] = PyArray_BYTES(array);
    places.steps[i] = PyArray_NDIM(array) == 0 ? 0 : PyArray_ITEMSIZE(array);
  }
  const process_end::OthersRun others_run;
  in_parts(PyArray_SIZE(whole),
           [&](std::int64_t begin, std::int64_t end) { run(loop, places, begin, end); });
  return result;
}

constexpr const char* kCapsule = "morphax.many_numbers";

PyObject* call_capsule(PyObject* capsule, PyObject* const* operands, Py_ssize_t count) {
  return guarded([&] {
    return call(*static_cast<const Loop*>(PyCapsule_GetPointer(capsule, kCapsule)), operands,
                count);
  });
}

PyMethodDef method = {"divided",
                      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_capsule)),
                      METH_FASTCALL, nullptr};

// A function of arrays of exactly these dtypes, by their numbers; None if the ufunc has no loop of
// them.
nb::object divided(nb::handle function, nb::sequence dtypes) {
  if (!PyObject_TypeCheck(function.ptr(), &PyUFunc_Type)) throw nb::type_error("not a ufunc");
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(function.ptr());
  if (ufunc->nout != 1 || ufunc->nin > kMostOperands || ufunc->core_enabled ||
      static_cast<int>(nb::len(dtypes)) != ufunc->nin)
    return nb::none();
  auto loop = std::make_unique<Loop>();
  loop->operands = ufunc->nin;
  for (int i = 0; i < ufunc->nin; ++i) loop->types[i] = nb::cast<int>(dtypes[i]);
  loop->elements = find_ufunc_loop(*ufunc, loop->types);
  if (loop->elements.inner == nullptr) return nb::none();
  loop->function = nb::borrow(function);
  const nb::object capsule = checked(PyCapsule_New(loop.get(), kCapsule, [](PyObject* self) {
    delete static_cast<Loop*>(PyCapsule_GetPointer(self, kCapsule));
  }));
  loop.release();
  return checked(PyCFunction_New(&method, capsule.ptr()));
}

}  // namespace

void bind(nb::module_& module) {
  if (_import_array() < 0 || _import_umath() < 0) throw nb::python_error();
  module.def("divided", &divided, nb::arg("function"), nb::arg("dtypes"),
             "A ufunc whose elements several threads compute, or None.");
}

}  // namespace morphax::many_numbers
