// XLA calls a function by nothing but its address, and passes on nothing that would tell ours which
// of the library's is meant.  So each has a function of its own, made from its number.
#include "library_handlers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "library_threads.h"
#include "objects.h"
#include "subnormal_numbers.h"
#include "xla/ffi/api/ffi.h"

namespace morphax::library_handlers {

namespace {

constexpr std::size_t kMost = 128;  // Of functions; jaxlib has half as many.

std::array<XLA_FFI_Handler*, kMost> functions = {};
std::atomic<std::int64_t> alone = 0;

// The elements of a matrix, which are not those of the stack.
std::int64_t elements_of_matrix(const XLA_FFI_Buffer& buffer) {
  std::int64_t elements = 1;
  for (std::int64_t i = std::max<std::int64_t>(0, buffer.rank - 2); i < buffer.rank; ++i) {
    elements *= buffer.dims[i];
  }
  return elements;
}

// XLA also asks what a function is, without operands.
bool is_run(const XLA_FFI_CallFrame& frame) {
  const bool asks =
      frame.extension_start != nullptr && frame.extension_start->type == XLA_FFI_Extension_Metadata;
  return frame.stage == XLA_FFI_ExecutionStage_EXECUTE && !asks;
}

template <std::size_t number>
XLA_FFI_Error* call(XLA_FFI_CallFrame* frame) {
  if (!is_run(*frame)) return functions[number](frame);
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < frame->args.size; ++i) {
    if (frame->args.types[i] != XLA_FFI_ArgType_BUFFER) continue;
    most = std::max(most, elements_of_matrix(*static_cast<XLA_FFI_Buffer*>(frame->args.args[i])));
  }
  const library_threads::Limit limit(most <= alone);
  // The library divides by multiplying by an inverse: that of a number near the largest is
  // subnormal, and were it 0, so were all that is divided, without a word.
  const SubnormalNumbers subnormals(Subnormals::are_numbers);
  return functions[number](frame);
}

template <std::size_t... numbers>
constexpr std::array<XLA_FFI_Handler*, kMost> calls_of(std::index_sequence<numbers...>) {
  return {&call<numbers>...};
}

constexpr auto kCalls = calls_of(std::make_index_sequence<kMost>{});

nb::list limited(const nb::list& handlers, std::int64_t elements) {
  if (handlers.size() > kMost) throw nb::value_error("more functions of the library than expected");
  alone = elements;
  nb::list found;
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    const nb::object handler = handlers[i];
    void* function = PyCapsule_GetPointer(handler.ptr(), PyCapsule_GetName(handler.ptr()));
    if (function == nullptr) throw nb::python_error();
    functions[i] = reinterpret_cast<XLA_FFI_Handler*>(function);
    found.append(checked(PyCapsule_New(reinterpret_cast<void*>(kCalls[i]), nullptr, nullptr)));
  }
  return found;
}

}  // namespace

void bind(nb::module_& module) {
  module.def("limited", &limited, nb::arg("handlers"), nb::arg("alone"),
             "XLA's ways to functions of the library, as capsules, that let few threads share a "
             "call, and none one whose matrices have at most so many elements.");
}

}  // namespace morphax::library_handlers
