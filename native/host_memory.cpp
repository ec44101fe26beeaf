// NumPy arrays whose memory comes from a `BlockPool`.
//
// There are two ways to such an array.  `empty` wraps one block; the block returns to the pool when
// the last view of the array is gone.  Between `enter` and `leave`, NumPy itself asks the pool for
// the results it allocates: a *memory handler* (NEP 49) is current in this context, and nowhere
// else, so arrays that the user makes are never affected.  `empty` does without the handler since
// making one current costs more than the whole allocation.
//
// The pool is owned by the handler's capsule.  Every array keeps a reference to that capsule, so
// the pool lives at least as long as the last array with memory from it.
#include "host_memory.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include <limits>
#include <memory>

#include "block_pool.h"
#include "freed_memory.h"
#include "process_end.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace morphax {

namespace {

constexpr const char* kHandlerName = "mem_handler";  // the capsule name that NumPy looks for
constexpr const char* kBlockName = "morphax.block";
constexpr std::size_t kDefaultCap = std::size_t{1} << 30;
constexpr double kDefaultIdleSeconds = 5;
constexpr std::size_t kTooLarge = std::numeric_limits<std::size_t>::max();

struct Handler {
  PyDataMem_Handler numpy;
  BlockPool pool;

  Handler(std::size_t cap, double idle_seconds);
};

// The capsule points to the part that NumPy knows; its context is the whole.
Handler* handler_of(PyObject* capsule) noexcept {
  return static_cast<Handler*>(PyCapsule_GetContext(capsule));
}

std::size_t saturating_product(std::size_t a, std::size_t b) noexcept {
  return b != 0 && a > kTooLarge / b ? kTooLarge : a * b;
}

BlockPool& pool_of(void* context) noexcept { return *static_cast<BlockPool*>(context); }

Handler::Handler(std::size_t cap, double idle_seconds)
    : numpy{
          "morphax_host_memory",
          1,
          {&pool, [](void* context, std::size_t bytes) { return pool_of(context).allocate(bytes); },
           [](void* context, std::size_t count, std::size_t size) {
             return pool_of(context).allocate_zeroed(saturating_product(count, size));
           },
           [](void* context, void* data, std::size_t bytes) {
             return pool_of(context).reallocate(data, bytes);
           },
           [](void* context, void* data, std::size_t) { pool_of(context).free(data); }}},
      pool(cap, idle_seconds) {}

template <typename T>
T* check(T* result) {
  if (result == nullptr) throw nb::python_error();
  return result;
}

// The array behind an object that numpy.ndarray accepts as itself or a subclass.
PyArrayObject* as_array(nb::handle object) {
  if (!PyArray_Check(object.ptr())) {
    PyErr_Format(PyExc_TypeError,
                 "host memory, argument array\n  given:    %.200s\n  expected: a numpy.ndarray\n"
                 "  fix:      Convert the argument with numpy.asarray first.",
                 Py_TYPE(object.ptr())->tp_name);
    throw nb::python_error();
  }
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

class Shape {
 public:
  explicit Shape(nb::handle shape) {
    if (!PyArray_IntpConverter(shape.ptr(), &dims_)) throw nb::python_error();
  }
  ~Shape() { PyDimMem_FREE(dims_.ptr); }
  Shape(const Shape&) = delete;
  Shape& operator=(const Shape&) = delete;

  int rank() const { return dims_.len; }
  npy_intp* dims() const { return dims_.ptr; }

 private:
  PyArray_Dims dims_{nullptr, 0};
};

nb::object plain_dtype(nb::handle dtype) {
  PyArray_Descr* descr = nullptr;
  if (!PyArray_DescrConverter(dtype.ptr(), &descr)) throw nb::python_error();
  nb::object owned = nb::steal(reinterpret_cast<PyObject*>(check(descr)));
  if (PyDataType_REFCHK(descr) || PyDataType_ELSIZE(descr) == 0) {
    PyErr_Format(PyExc_TypeError,
                 "host memory, argument dtype\n  given:    %R\n  expected: a dtype of fixed size "
                 "that holds no Python objects\n  fix:      Use a numeric dtype.",
                 owned.ptr());
    throw nb::python_error();
  }
  return owned;
}

std::size_t byte_count(int rank, const npy_intp* dims, std::size_t item_size) {
  std::size_t bytes = item_size;
  for (int axis = 0; axis < rank; ++axis) {
    if (dims[axis] < 0) {
      PyErr_Format(PyExc_ValueError,
                   "host memory, argument shape\n  given:    dimension %zd on axis %d\n"
                   "  expected: no negative dimension\n  fix:      Pass the sizes themselves.",
                   static_cast<Py_ssize_t>(dims[axis]), axis);
      throw nb::python_error();
    }
    bytes = saturating_product(bytes, static_cast<std::size_t>(dims[axis]));
  }
  return bytes;
}

class HostMemory {
 public:
  HostMemory(std::size_t cap, double idle_seconds) {
    auto handler = std::make_unique<Handler>(cap, idle_seconds);
    handler_ = handler.get();
    capsule_ = nb::steal(check(PyCapsule_New(
        &handler_->numpy, kHandlerName, [](PyObject* capsule) { delete handler_of(capsule); })));
    PyCapsule_SetContext(capsule_.ptr(), handler.release());
  }

  void release() const { pool().release(); }

  void set_cap(std::size_t cap) const { pool().set_cap(cap); }

  static bool keep_freed(std::size_t cap, double idle_seconds) {
    return keep_freed_memory(cap, idle_seconds);
  }

  nb::object empty(nb::handle shape, nb::handle dtype) const {
    const Shape parsed(shape);
    return new_array(parsed.rank(), parsed.dims(), plain_dtype(dtype));
  }

  nb::object aligned_copy(nb::handle source) const {
    PyArrayObject* array = as_array(source);
    nb::object dtype = plain_dtype(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
    nb::object copy = new_array(PyArray_NDIM(array), PyArray_DIMS(array), std::move(dtype));
    const process_end::Call under_way;  // NumPy gives Python's lock away meanwhile
    if (PyArray_CopyInto(as_array(copy), array) < 0) throw nb::python_error();
    return copy;
  }

  static bool is_aligned(nb::handle array) {
    return reinterpret_cast<std::uintptr_t>(PyArray_DATA(as_array(array))) % kAlignment == 0;
  }

  nb::object enter() const { return nb::steal(check(PyDataMem_SetHandler(capsule_.ptr()))); }

  static void leave(nb::handle previous) {
    // NumPy would accept any object here and crash at the next allocation.
    if (!PyCapsule_IsValid(previous.ptr(), kHandlerName)) {
      PyErr_Format(PyExc_TypeError,
                   "host memory, argument previous\n  given:    %.200s\n  expected: the result of "
                   "enter()\n  fix:      Pass leave() what the matching enter() returned.",
                   Py_TYPE(previous.ptr())->tp_name);
      throw nb::python_error();
    }
    Py_DECREF(check(PyDataMem_SetHandler(previous.ptr())));
  }

  nb::dict stats() const {
    const PoolStats stats = pool().stats();
    nb::dict result;
    result["cap"] = stats.cap;
    result["retained"] = stats.retained;
    result["in_use"] = stats.in_use;
    result["hits"] = stats.hits;
    result["misses"] = stats.misses;
    return result;
  }

  // The dtype is plain, the sizes are not negative.
  nb::object new_array(int rank, const npy_intp* dims, nb::object dtype) const {
    auto* descr = reinterpret_cast<PyArray_Descr*>(dtype.ptr());
    void* data = pool().allocate(byte_count(rank, dims, PyDataType_ELSIZE(descr)));
    if (data == nullptr) {
      PyErr_NoMemory();
      throw nb::python_error();
    }
    nb::object block = wrap_block(data);
    dtype.release();  // the constructor takes over this reference, also when it fails
    nb::object array = nb::steal(check(PyArray_NewFromDescr(
        &PyArray_Type, descr, rank, dims, nullptr, data, NPY_ARRAY_CARRAY, nullptr)));
    if (PyArray_SetBaseObject(as_array(array), block.release().ptr()) < 0) {
      throw nb::python_error();
    }
    return array;
  }

 private:
  BlockPool& pool() const { return handler_->pool; }

  // An object that returns the block to the pool, and keeps the pool alive until then.
  nb::object wrap_block(void* data) const {
    PyObject* block = PyCapsule_New(data, kBlockName, [](PyObject* self) {
      auto* owner = static_cast<PyObject*>(PyCapsule_GetContext(self));
      handler_of(owner)->pool.free(PyCapsule_GetPointer(self, kBlockName));
      Py_DECREF(owner);
    });
    if (block == nullptr) {
      pool().free(data);
      throw nb::python_error();
    }
    PyCapsule_SetContext(block, capsule_.inc_ref().ptr());
    return nb::steal(block);
  }

  nb::object capsule_;
  Handler* handler_;
};

}  // namespace

nb::object new_array_in(nb::handle pool, int rank, const Py_intptr_t* dims, nb::object dtype) {
  return nb::inst_ptr<HostMemory>(pool)->new_array(rank, dims, std::move(dtype));
}

void bind_host_memory(nb::module_& module) {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
  nb::class_<HostMemory>(module, "HostMemory", "A pool of 64-byte aligned memory for arrays.")
      .def(nb::init<std::size_t, double>(), "cap"_a = kDefaultCap,
           "idle_seconds"_a = kDefaultIdleSeconds)
      .def("empty", &HostMemory::empty, "shape"_a, "dtype"_a,
           "An uninitialised, C-contiguous, aligned array.")
      .def("aligned_copy", &HostMemory::aligned_copy, "array"_a.none(),
           "A C-contiguous, aligned copy of an array.")
      .def_static("is_aligned", &HostMemory::is_aligned, "array"_a.none(),
                  "Whether the data of an array start on a 64-byte boundary.")
      .def("enter", &HostMemory::enter,
           "Let NumPy allocate from this pool in the current context; returns the argument that "
           "leave() needs.")
      .def_static("leave", &HostMemory::leave, "previous"_a.none(),
                  "Let NumPy allocate as it did before the matching enter().")
      .def("release", &HostMemory::release, "Give all retained memory back to the system.")
      .def("set_cap", &HostMemory::set_cap, "cap"_a, "Retain at most this many bytes.")
      .def_static("keep_freed", &HostMemory::keep_freed, "cap"_a,
                  "idle_seconds"_a = kDefaultIdleSeconds,
                  "Let the C library keep large blocks that are freed, about `cap` bytes of them; "
                  "whether it can.")
      .def("stats", &HostMemory::stats,
           "Bytes retained and in use, the cap in bytes, and the numbers of hits and misses.");
}

}  // namespace morphax
