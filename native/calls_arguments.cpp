#include "calls_arguments.h"

#include <algorithm>

#include "keys.h"

namespace morphax::calls {

namespace {

// False if the value has no key.
bool push_static(References& statics, nb::object place, PyObject* value) {
  nb::object key = keys::key_of(value);
  if (!key.is_valid()) return false;
  statics.push(std::move(place));
  statics.push(std::move(key));
  return true;
}

// The static arguments among `count` positional ones, in order; negative positions count from the
// end.
std::vector<Py_ssize_t> static_positions(PyObject* numbers, Py_ssize_t count) {
  std::vector<Py_ssize_t> positions;
  for (Py_ssize_t i = 0; i < length(numbers); ++i) {
    Py_ssize_t number = PyLong_AsSsize_t(item(numbers, i));
    if (number < 0) number += count;
    if (0 <= number && number < count) positions.push_back(number);
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

nb::object named_arguments(const Arguments& arguments) {
  nb::object named = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < length(arguments.names); ++i) {
    PyObject* value = arguments.values[arguments.count + i];
    check_status(PyDict_SetItem(named.ptr(), item(arguments.names, i), value));
  }
  return named;
}

// `split_static` of jit_options.py.  False if a static argument has no key.
bool split(const Arguments& arguments, PyObject* choice, nb::object& args, nb::object& named,
           References& statics) {
  const auto positions = static_positions(core.static_numbers(choice), arguments.count);
  References rest;
  for (Py_ssize_t i = 0; i < arguments.count; ++i) {
    if (std::binary_search(positions.begin(), positions.end(), i)) {
      if (!push_static(statics, checked(PyLong_FromSsize_t(i)), arguments.values[i])) return false;
    } else {
      rest.push(arguments.values[i]);
    }
  }
  args = tuple_of(rest.data(), rest.size());
  if (!named.is_valid()) return true;
  PyObject* names = core.static_names(choice);
  for (Py_ssize_t i = 0; i < length(names); ++i) {
    const nb::object value = nb::borrow(PyDict_GetItemWithError(named.ptr(), item(names, i)));
    if (!value.is_valid()) continue;
    if (!push_static(statics, nb::borrow(item(names, i)), value.ptr())) return false;
    check_status(PyDict_DelItem(named.ptr(), item(names, i)));
  }
  return true;
}

bool mix_avals(Signature& signature, Code& code) {
  for (std::size_t i = 0; i < signature.leaves.size(); ++i) {
    PyObject* leaf = signature.leaves[i];
    if (is_array(leaf)) {
      code.mix(core.aval(leaf));
      continue;
    }
    nb::object aval = nb::steal(PyObject_CallOneArg(core.aval_of, leaf));
    if (!aval.is_valid()) return false;
    code.mix(aval.ptr());
    signature.other_avals.push(std::move(aval));
  }
  return true;
}

}  // namespace

bool read(const Arguments& arguments, PyObject* static_choice, Signature& signature) {
  nb::object args, named;
  if (arguments.names != nullptr) named = named_arguments(arguments);
  if (static_choice == Py_None) {
    args = tuple_of(arguments.values, static_cast<std::size_t>(arguments.count));
  } else {
    if (!split(arguments, static_choice, args, named, signature.statics)) return false;
  }
  tree::Flattened flattened = tree::flatten(args.ptr());
  signature.args = std::move(flattened.treedef);
  signature.leaves.swap(flattened.leaves);
  signature.kwargs = nb::borrow(core.no_kwargs);
  if (named.is_valid() && PyDict_GET_SIZE(named.ptr()) > 0) {
    tree::Flattened more = tree::flatten(named.ptr());
    signature.kwargs = std::move(more.treedef);
    for (std::size_t i = 0; i < more.leaves.size(); ++i) signature.leaves.push(more.leaves[i]);
  }
  Code code;
  code.mix(signature.trace_key);
  bool good = mix_avals(signature, code);
  if (good) {
    code.mix_treedef(signature.args.ptr());
    code.mix_treedef(signature.kwargs.ptr());
    good = code.mix_statics(signature.statics);
  }
  signature.code = code.value();
  if (!good && !PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
  PyErr_Clear();
  return good;
}

}  // namespace morphax::calls
