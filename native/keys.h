// Keys of parameters; see morphax/util/parameter_keys.py.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::keys {

namespace nb = nanobind;

// What tells a value from all others that are not the same; invalid if it has no key.  May run
// Python code.
nb::object key_of(PyObject* value);

void bind(nb::module_& module);

}  // namespace morphax::keys
