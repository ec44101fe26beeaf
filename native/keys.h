// Keys of parameters; see morphax/util/parameter_keys.py.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::keys {

namespace nb = nanobind;

// What tells a value from all others that are not the same; invalid if it has no key.  May run
// Python code.
nb::object key_of(PyObject* value);

// The key of the parameters of an operation, a dictionary; invalid if one of them has none.
nb::object params_key(PyObject* params);

void bind(nb::module_& module);

}  // namespace morphax::keys
