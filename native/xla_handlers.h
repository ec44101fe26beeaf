// How functions that XLA calls reach Python, which registers them.
#pragma once

#include "objects.h"
#include "xla/ffi/api/ffi.h"

namespace morphax {

// Give a module the function `handler`, which returns XLA's way to what it computes.
inline void bind_handler(nb::module_& module, XLA_FFI_Handler* handler, const char* doc) {
  module.def(
      "handler",
      [handler] {
        return checked(PyCapsule_New(reinterpret_cast<void*>(handler), nullptr, nullptr));
      },
      doc);
}

}  // namespace morphax
