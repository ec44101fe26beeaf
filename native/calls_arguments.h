// From the arguments of a call to its signature.
#pragma once

#include "calls_program.h"

namespace morphax::calls {

// The arguments as Python's vectorcall passes them: positional ones, then those with `names`.
struct Arguments {
  PyObject* const* values;
  Py_ssize_t count;  // of the positional ones
  PyObject* names;   // a tuple, or null
};

// False if an argument cannot be what it is meant to be; Python then says which, and why.
bool read(const Arguments& arguments, PyObject* static_choice, Signature& signature);

}  // namespace morphax::calls
