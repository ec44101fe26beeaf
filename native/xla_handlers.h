// How functions that XLA calls reach Python, which registers them.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "objects.h"
#include "xla/ffi/api/ffi.h"

namespace morphax {

// A function that XLA calls, as one that throws nothing: what leaves it ends the process, for XLA
// has no exceptions.  The text is short, and so needs no memory.
template <auto function>
struct Guarded {
  template <typename... Arguments>
  xla::ffi::Error operator()(Arguments&&... arguments) const noexcept {
    try {
      return function(std::forward<Arguments>(arguments)...);
    } catch (const std::bad_alloc&) {
      return xla::ffi::Error(xla::ffi::ErrorCode::kResourceExhausted, "out of memory");
    } catch (const std::exception&) {
      return xla::ffi::Error(xla::ffi::ErrorCode::kInternal, "it threw");
    }
  }
};

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
