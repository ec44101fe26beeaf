// Stacks of factorisations, called from compiled programs on the CPU.
#include "nan_spread.h"

#include <cstdint>

#include "subnormal_numbers.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace morphax::nan_spread {

namespace {

// What the matrices are, and what lies beside them: pivots, scalars, whether it has failed, or,
// where they are to be factorised by iteration, whether they are not finite.
enum Factors : std::int64_t { kLu, kReflections, kCholesky, kUnfactorised };

struct Stack {
  void* matrices;
  void* beside;
  std::size_t count, rows, columns, besides;  // sizes of each
};

template <typename T>
void spread(const Stack& stack, std::int64_t factors, std::size_t parts) {
  for (std::size_t i = 0; i < stack.count; ++i) {
    T* numbers = static_cast<T*>(stack.matrices) + i * stack.rows * stack.columns * parts;
    if (factors == kLu) {
      after_pivot(numbers, stack.rows, stack.columns, parts);
    } else if (factors == kReflections) {
      T* scalars = static_cast<T*>(stack.beside) + i * stack.besides * parts;
      after_reflection(numbers, stack.rows, stack.columns, parts, scalars, stack.besides);
    } else {
      const bool is_of_no_use =
          factors == kCholesky ? has_failed(numbers, stack.rows, parts)
                               : zero_unless_finite(numbers, stack.rows * stack.columns * parts);
      if (is_of_no_use) static_cast<std::int32_t*>(stack.beside)[i] = 1;
    }
  }
}

bool are_consistent(const Stack& stack, std::int64_t factors, ffi::AnyBuffer matrices,
                    ffi::AnyBuffer beside) {
  const ffi::DataType kind = factors == kReflections ? matrices.element_type() : ffi::DataType::S32;
  const bool is_flag = factors == kCholesky || factors == kUnfactorised;
  const bool fit =
      is_flag ? stack.besides == 1 && (factors == kUnfactorised || stack.rows == stack.columns)
              : stack.besides == std::min(stack.rows, stack.columns);
  return fit && beside.element_type() == kind &&
         matrices.element_count() == stack.count * stack.rows * stack.columns &&
         beside.element_count() == stack.count * stack.besides;
}

// The results overwrite the operands.
ffi::Error call_from_xla(ffi::AnyBuffer, ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer> matrices,
                         ffi::Result<ffi::AnyBuffer> beside, std::int64_t factors,
                         std::int64_t rows, std::int64_t columns, std::int64_t besides) {
  if (rows < 1 || columns < 1 || besides < 1 || factors < kLu || factors > kUnfactorised) {
    return ffi::Error::InvalidArgument("factors of another kind");
  }
  const Stack stack{matrices->untyped_data(),
                    beside->untyped_data(),
                    beside->element_count() / static_cast<std::size_t>(besides),
                    static_cast<std::size_t>(rows),
                    static_cast<std::size_t>(columns),
                    static_cast<std::size_t>(besides)};
  if (!are_consistent(stack, factors, *matrices, *beside)) {
    return ffi::Error::InvalidArgument("factors of other sizes or dtypes");
  }
  const SubnormalNumbers subnormals(Subnormals::are_numbers);
  switch (matrices->element_type()) {
    case ffi::F32:
      spread<float>(stack, factors, 1);
      return ffi::Error::Success();
    case ffi::F64:
      spread<double>(stack, factors, 1);
      return ffi::Error::Success();
    case ffi::C64:
      spread<float>(stack, factors, 2);
      return ffi::Error::Success();
    case ffi::C128:
      spread<double>(stack, factors, 2);
      return ffi::Error::Success();
    default:
      return ffi::Error::InvalidArgument("factors of another dtype");
  }
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::int64_t>("factors")
                           .Attr<std::int64_t>("rows")
                           .Attr<std::int64_t>("columns")
                           .Attr<std::int64_t>("besides"));

}  // namespace

void bind(nb::module_& module) {
  bind_handler(module, handler, "XLA's way to NaN beside NaN, as a capsule.");
}

}  // namespace morphax::nan_spread
