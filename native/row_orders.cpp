// The orders of rows that stacks of exchanges amount to, called from compiled programs on the CPU.
//
// In XLA a loop over the exchanges looks for each row among all of them.
#include "row_orders.h"

#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace morphax::row_orders {

namespace {

ffi::Error call_from_xla(ffi::Buffer<ffi::S32> pivots, ffi::Result<ffi::Buffer<ffi::S32>> out,
                         std::int64_t exchanges, std::int64_t rows) {
  const auto num_pivots = static_cast<std::int64_t>(pivots.element_count());
  const auto num_rows = static_cast<std::int64_t>(out->element_count());
  if (exchanges < 1 || rows < exchanges || num_pivots % exchanges != 0 ||
      num_rows != num_pivots / exchanges * rows) {
    return ffi::Error::InvalidArgument("orders of rows in arrays of other sizes");
  }
  for (std::int64_t i = 0; i < num_pivots / exchanges; ++i) {
    after_exchanges(pivots.typed_data() + i * exchanges, exchanges, out->typed_data() + i * rows,
                    rows, 0);
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Arg<ffi::Buffer<ffi::S32>>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<std::int64_t>("exchanges")
                           .Attr<std::int64_t>("rows"));

}  // namespace

void bind(nb::module_& module) {
  bind_handler(module, handler, "XLA's way to orders of rows, as a capsule.");
}

}  // namespace morphax::row_orders
