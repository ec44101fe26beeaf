#include "calls_numbers.h"

#include <cstring>

namespace morphax::calls {

namespace {

// What tells a number from others with its aval: 0.0 and -0.0 differ.  None for what is not kept.
std::optional<std::uint64_t> bits_of(PyObject* number) {
  if (PyFloat_CheckExact(number)) {
    const double value = PyFloat_AS_DOUBLE(number);
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  if (PyBool_Check(number)) return number == Py_True;
  if (!PyLong_CheckExact(number)) return std::nullopt;
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Numbers::Entry& Numbers::place_of(std::uint64_t bits, PyObject* aval) {
  Code code;
  code.mix(bits);
  code.mix(aval);
  return entries_[code.value() % kMost];
}

nb::object Numbers::array_of(PyObject* leaf, PyObject* aval, PyObject* place) {
  const auto bits = bits_of(leaf);
  if (!bits) return call(core.put, leaf, aval, place);
  const Entry& known = place_of(*bits, aval);
  if (known.bits == *bits && known.aval.is(aval) && known.place.is(place)) {
    return new_array(aval, Py_None, known.buffer.ptr(), place, false);
  }
  nb::object array = call(core.put, leaf, aval, place);
  nb::object buffer = nb::borrow(core.buffer(array.ptr()));
  // No program may write its results there.
  check_status(PyObject_SetAttr(buffer.ptr(), core.is_shared, Py_True));
  // What is replaced goes last: it may run code that comes back here.
  Entry entry{*bits, nb::borrow(aval), nb::borrow(place), std::move(buffer)};
  std::swap(place_of(*bits, aval), entry);
  return array;
}

void Numbers::clear() {
  for (Entry& entry : entries_) {
    const Entry gone = std::exchange(entry, Entry{});
  }
}

}  // namespace morphax::calls
