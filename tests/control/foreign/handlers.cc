// Handlers of XLA's foreign function interface that the tests call.
#include <cstdint>
#include <cstring>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using F32Result = ffi::ResultBuffer<ffi::F32>;

static ffi::Error Scale(float factor, F32 x, F32Result y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    scale, Scale, ffi::Ffi::Bind().Attr<float>("factor").Arg<F32>().Ret<F32>());

// 10 x + z for operands that need not have the same number of elements.
static ffi::Error Combine(F32 x, F32 z, F32Result y) {
  size_t n = x.element_count(), m = z.element_count();
  for (size_t i = 0; i < y->element_count(); ++i) {
    y->typed_data()[i] = 10 * x.typed_data()[i % n] + z.typed_data()[i % m];
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(combine, Combine,
                              ffi::Ffi::Bind().Arg<F32>().Arg<F32>().Ret<F32>());

static ffi::Error SumAndDifference(F32 x, F32 z, F32Result sum, F32Result difference) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    sum->typed_data()[i] = x.typed_data()[i] + z.typed_data()[i];
    difference->typed_data()[i] = x.typed_data()[i] - z.typed_data()[i];
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    sum_and_difference, SumAndDifference,
    ffi::Ffi::Bind().Arg<F32>().Arg<F32>().Ret<F32>().Ret<F32>());

static ffi::Error Refuse(ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
  return ffi::Error::InvalidArgument("the handler refuses this");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(refuse, Refuse,
                              ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// The bytes as they lie in memory, which shows layouts.
static int64_t calls = 0;
static ffi::Error CopyBytes(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  ++calls;
  std::memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(copy_bytes, CopyBytes,
                              ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
extern "C" int64_t number_of_calls() { return calls; }

static ffi::Error AddOneInPlace(F32 x, F32Result y) {
  if (x.typed_data() != y->typed_data()) return ffi::Error::Internal("the memory is not shared");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += 1;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(add_one_in_place, AddOneInPlace,
                              ffi::Ffi::Bind().Arg<F32>().Ret<F32>());

// What arrives of attributes of all kinds.
static ffi::Error Attributes(int64_t i, int32_t j, uint64_t u, double d, bool b,
                             std::string_view text, ffi::Span<const float> array,
                             ffi::Dictionary inner, F32Result y) {
  auto q = inner.get<int64_t>("q");
  if (!q.has_value()) return ffi::Error::InvalidArgument("no q");
  double seen[] = {double(i), double(j), double(u >> 60), d, double(b), double(text.size()),
                   double(text.size() ? (unsigned char)text[text.size() - 1] : 0),
                   double(array.size()), double(array[array.size() - 1]), double(*q)};
  for (size_t k = 0; k < 10; ++k) y->typed_data()[k] = float(seen[k]);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(attributes, Attributes,
                              ffi::Ffi::Bind()
                                  .Attr<int64_t>("i")
                                  .Attr<int32_t>("j")
                                  .Attr<uint64_t>("u")
                                  .Attr<double>("d")
                                  .Attr<bool>("b")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const float>>("array")
                                  .Attr<ffi::Dictionary>("inner")
                                  .Ret<F32>());

// A state that lives as long as the program: made once, counted at each call.
struct State {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  int64_t calls = 0;
};
ffi::TypeId State::id = {};
ffi::TypeInfo State::info = ffi::MakeTypeInfo<State>();
extern "C" void* state_type_id() { return &State::id; }
extern "C" void* state_type_info() { return &State::info; }

static ffi::ErrorOr<std::unique_ptr<State>> MakeState() { return std::make_unique<State>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(make_state, MakeState, ffi::Ffi::BindInstantiate());
static ffi::Error CountCalls(State* state, F32Result y) {
  y->typed_data()[0] = float(++state->calls);
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count_calls, CountCalls,
                              ffi::Ffi::Bind().Ctx<ffi::State<State>>().Ret<F32>());
