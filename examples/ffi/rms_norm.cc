// RMS normalisation and its derivative, as handlers of XLA's foreign function interface.
//
//   y = r x   where   r = (mean(x²) + ε)^(-1/2),   for each row of a batch.
//
// With n numbers in a row, dr/dx = -r³ x / n, so the cotangent of x is r (c - r² x (c · x) / n),
// where c is that of y.  Reference: B. Zhang, R. Sennrich, "Root mean square layer normalization",
// NeurIPS 2019.
#include <cmath>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Rows = ffi::Buffer<ffi::F32>;
using RowsResult = ffi::ResultBuffer<ffi::F32>;

// The size of a row: the last axis; all others are a batch.
std::int64_t row_size(const Rows& x) {
  return x.dimensions().size() == 0 ? 0 : x.dimensions().back();
}

ffi::Error forward(float eps, Rows x, RowsResult y, RowsResult r) {
  const std::int64_t n = row_size(x);
  if (n == 0) return ffi::Error::InvalidArgument("rms_norm: rows of at least one number");
  const std::int64_t rows = static_cast<std::int64_t>(x.element_count()) / n;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* in = x.typed_data() + row * n;
    float* out = y->typed_data() + row * n;
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) squares += static_cast<double>(in[i]) * in[i];
    const auto scale = static_cast<float>(1 / std::sqrt(squares / n + eps));
    for (std::int64_t i = 0; i < n; ++i) out[i] = scale * in[i];
    r->typed_data()[row] = scale;
  }
  return ffi::Error::Success();
}

ffi::Error backward(Rows r, Rows x, Rows ct, RowsResult x_ct) {
  const std::int64_t n = row_size(x);
  if (n == 0) return ffi::Error::InvalidArgument("rms_norm: rows of at least one number");
  const std::int64_t rows = static_cast<std::int64_t>(x.element_count()) / n;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* in = x.typed_data() + row * n;
    const float* c = ct.typed_data() + row * n;
    double product = 0;
    for (std::int64_t i = 0; i < n; ++i) product += static_cast<double>(c[i]) * in[i];
    const double scale = r.typed_data()[row];
    const double along = scale * scale * product / n;
    for (std::int64_t i = 0; i < n; ++i) {
      x_ct->typed_data()[row * n + i] = static_cast<float>(scale * (c[i] - along * in[i]));
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    rms_norm_forward, forward,
    ffi::Ffi::Bind().Attr<float>("eps").Arg<Rows>().Ret<Rows>().Ret<Rows>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    rms_norm_backward, backward,
    ffi::Ffi::Bind().Arg<Rows>().Arg<Rows>().Arg<Rows>().Ret<Rows>());
