// What is used everywhere to work on Python objects: owned references, slots of Python's classes,
// and the way from a C++ exception to a Python error.
//
// The objects of the package are instances of its Python classes, also in the compiled parts; so
// collection of garbage, weak references and deep destruction are Python's business.  The compiled
// parts read and fill their `__slots__` directly.
#pragma once

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <algorithm>
#include <new>
#include <utility>

namespace morphax {

namespace nb = nanobind;

// A new reference that Python returned, or the error that it raised instead, thrown.
inline nb::object checked(PyObject* result) {
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

// A reference that is never given back: the interpreter may be gone when C++ destroys its globals.
inline PyObject* kept(nb::handle object) { return object.inc_ref().ptr(); }

inline PyTypeObject* kept_type(nb::handle cls) {
  return reinterpret_cast<PyTypeObject*>(kept(cls));
}

inline void check_status(int status) {
  if (status < 0) throw nb::python_error();
}

// The body of a function that Python calls: what it throws becomes a Python error.
template <typename Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return nb::object(body()).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

template <typename... Args>
nb::object call(nb::handle function, Args... args) {
  PyObject* const arguments[] = {nullptr, nb::handle(args).ptr()...};
  return checked(PyObject_Vectorcall(function.ptr(), arguments + 1,
                                     sizeof...(args) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

// `PyObject_CallMethod` with the format "O" would spread a tuple over the arguments.
template <typename... Args>
nb::object call_method(nb::handle object, const char* name, Args... args) {
  return call(checked(PyObject_GetAttrString(object.ptr(), name)), args...);
}

// No error is raised and dropped on the way, which would cost more than the rest.
inline bool has_attribute(PyObject* object, PyObject* name) {
  PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  check_status(PyObject_GetOptionalAttr(object, name, &found));
#else
  check_status(_PyObject_LookupAttr(object, name, &found));
#endif
  return nb::steal(found).is_valid();
}

// One of the `__slots__` of a Python class.  The class keeps its layout for as long as it lives.
class Slot {
 public:
  Slot() = default;
  Slot(nb::handle cls, const char* name) {
    nb::object descriptor = checked(PyObject_GetAttrString(cls.ptr(), name));
    if (!PyObject_TypeCheck(descriptor.ptr(), &PyMemberDescr_Type)) {
      PyErr_Format(PyExc_TypeError, "%R has no slot %s", cls.ptr(), name);
      throw nb::python_error();
    }
    offset_ = reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member->offset;
  }

  // Borrowed; null if the slot was never filled.
  PyObject* operator()(PyObject* object) const { return *address(object); }
  PyObject* operator()(nb::handle object) const { return *address(object.ptr()); }

  void fill(PyObject* object, nb::object value) const {
    nb::object before = nb::steal(std::exchange(*address(object), value.release().ptr()));
  }

 private:
  PyObject** address(PyObject* object) const {
    return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset_);
  }

  Py_ssize_t offset_ = 0;
};

// A new instance of a class with slots, which are empty.
inline nb::object new_instance(PyTypeObject* cls) { return checked(cls->tp_alloc(cls, 0)); }

inline nb::object boolean(bool value) { return nb::borrow(value ? Py_True : Py_False); }

// Owned references in a row; few of them need no memory from the heap.
class References {
 public:
  References() = default;
  References(References&& other) noexcept { take(other); }
  References(const References&) = delete;
  References& operator=(const References&) = delete;
  ~References() {
    shrink(0);
    if (items_ != inline_) delete[] items_;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  PyObject* const* data() const { return items_; }
  PyObject* operator[](std::size_t i) const { return items_[i]; }

  void push(nb::object item) {
    if (size_ == capacity_) grow();
    items_[size_++] = item.release().ptr();
  }
  void push(PyObject* borrowed) {
    Py_INCREF(borrowed);
    push(nb::steal(borrowed));
  }
  nb::object pop() { return nb::steal(items_[--size_]); }
  void shrink(std::size_t size) {
    while (size_ > size) Py_DECREF(items_[--size_]);
  }

  void swap(References& other) noexcept {
    References mine(std::move(*this));
    take(other);
    other.take(mine);
  }

  // A list of the references, which are gone from here.
  nb::object into_list() {
    nb::object list = checked(PyList_New(static_cast<Py_ssize_t>(size_)));
    for (std::size_t i = 0; i < size_; ++i) PyList_SET_ITEM(list.ptr(), i, items_[i]);
    size_ = 0;
    return list;
  }

 private:
  static constexpr std::size_t kInline = 24;

  void grow() {
    auto** larger = new PyObject*[2 * capacity_];
    std::copy(items_, items_ + size_, larger);
    if (items_ != inline_) delete[] items_;
    items_ = larger;
    capacity_ *= 2;
  }

  // Into this, which is empty.
  void take(References& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    if (other.items_ == other.inline_) {
      std::copy(other.inline_, other.inline_ + size_, inline_);
    } else {
      items_ = std::exchange(other.items_, other.inline_);
      capacity_ = std::exchange(other.capacity_, kInline);
    }
  }

  PyObject* inline_[kInline];
  PyObject** items_ = inline_;
  std::size_t size_ = 0;
  std::size_t capacity_ = kInline;
};

// A tuple, or a list, of borrowed references.
inline nb::object tuple_of(PyObject* const* items, std::size_t count) {
  nb::object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i) {
    Py_INCREF(items[i]);
    PyTuple_SET_ITEM(tuple.ptr(), i, items[i]);
  }
  return tuple;
}

inline nb::object list_of(PyObject* const* items, std::size_t count) {
  nb::object list = checked(PyList_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i) {
    Py_INCREF(items[i]);
    PyList_SET_ITEM(list.ptr(), i, items[i]);
  }
  return list;
}

// The children of a node: an instance of tuple, or a list, which a user's function may change while
// it is walked over.
inline Py_ssize_t length(PyObject* sequence) { return PySequence_Fast_GET_SIZE(sequence); }
inline PyObject* item(PyObject* sequence, Py_ssize_t i) {
  return PySequence_Fast_GET_ITEM(sequence, i);
}

}  // namespace morphax
