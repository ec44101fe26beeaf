// Inner loops of NumPy's functions, found by the dtypes of what they read and write.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/ndarraytypes.h>
#include <numpy/ufuncobject.h>

#include <algorithm>

namespace morphax {

struct UfuncLoop {
  PyUFuncGenericFunction inner = nullptr;  // null: there is none
  void* data = nullptr;
  int result = 0;  // its dtype
};

// The loop of a function of one result that reads exactly these dtypes, one for each operand: it is
// what NumPy chooses for them.  Who includes this has imported NumPy's table of functions.
template <typename Type>
UfuncLoop find_ufunc_loop(const PyUFuncObject& ufunc, const Type* operands) {
  for (int i = 0; i < ufunc.ntypes; ++i) {
    const char* types = ufunc.types + i * ufunc.nargs;
    if (!std::equal(types, types + ufunc.nin, operands)) continue;
    void* data = ufunc.data == nullptr ? nullptr : const_cast<void*>(ufunc.data[i]);
    return {ufunc.functions[i], data, types[ufunc.nin]};
  }
  return {};
}

}  // namespace morphax
