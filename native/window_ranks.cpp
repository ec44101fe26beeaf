// Of each window of an image, the sample of a rank, called from compiled programs on the CPU too.
//
// All samples are sorted once, so that each has a place of its own in their order, and a window is
// a set of places.  It moves by one sample: some leave the set, some enter it, and the member of
// the rank is looked for from where it was.  A set is bits, with the numbers of members in each 64
// and in each 4096 places, after Huang's histogram; so a step takes as long as the window has
// samples on its edge, however many are within.
//
// Reference: Huang, Yang & Tang, "A fast two-dimensional median filtering algorithm", IEEE
// Transactions on Acoustics, Speech, and Signal Processing 27 (1979).
#include "window_ranks.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "parts.h"
#include "process_end.h"
#include "workers.h"
#include "xla/ffi/api/ffi.h"
#include "xla_handlers.h"

namespace ffi = xla::ffi;

namespace morphax::window_ranks {

namespace {

// Samples in one part of the work, times those on the edge: for fewer another thread is not worth
// waking.
constexpr std::int64_t kWorthDividing = 1 << 17;

// A row of numbers that somebody else holds.
struct Row {
  const std::int64_t* begin_;
  std::size_t size_;
  const std::int64_t* begin() const { return begin_; }
  const std::int64_t* end() const { return begin_ + size_; }
  std::int64_t operator[](std::size_t i) const { return begin_[i]; }
};

// Where windows have their samples, counted from the first sample of the image that they slide
// over; those that leave it when it moves by one along the last axis, and those that enter then.
struct Windows {
  Row samples, leaving, entering;
  Row image, results;  // Sizes.
  std::int64_t rank;

  std::int64_t length() const { return results[results.size_ - 1]; }

  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t n : results) product *= n;
    return product;
  }

  // The first sample of a row of windows.
  std::int64_t start_of(std::int64_t row) const {
    std::int64_t start = 0, step = image[image.size_ - 1];
    for (std::size_t axis = results.size_ - 1; axis-- > 0;) {
      start += row % results[axis] * step;
      row /= results[axis], step *= image[axis];
    }
    return start;
  }

  // Whether all samples lie in an image of so many, and none leaves or enters but those that do.
  bool are_inside(std::int64_t elements) const {
    std::int64_t product = 1, last = 0;
    if (image.size_ == 0 || image.size_ != results.size_) return false;
    for (std::size_t axis = image.size_; axis-- > 0;) {
      if (results[axis] < 1 || results[axis] > image[axis]) return false;
      last += (results[axis] - 1) * product;
      product *= image[axis];
    }
    const auto inside = [&](Row offsets) {
      return std::all_of(offsets.begin(), offsets.end(),
                         [&](std::int64_t o) { return 0 <= o && o + last < elements; });
    };
    return product == elements && elements <= std::numeric_limits<std::int32_t>::max() &&
           inside(samples) && inside(leaving) && inside(entering) &&
           leaving.size_ == entering.size_ && 0 <= rank &&
           rank < static_cast<std::int64_t>(samples.size_);
  }
};

// The numbers of samples in ascending order of their keys; equal ones stay as they are.
template <typename I>
std::vector<std::int32_t> order_of(const I* keys, std::int64_t count) {
  using U = std::make_unsigned_t<I>;
  constexpr int kBits = 11, kDigits = (8 * sizeof(U) + kBits - 1) / kBits;
  constexpr std::size_t kValues = std::size_t{1} << kBits;
  constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
  std::vector<std::array<std::int32_t, kValues>> counts(kDigits);
  std::vector<std::pair<U, std::int32_t>> rows(count), moved(count);
  const auto digit = [](U key, int number) { return (key >> (number * kBits)) & (kValues - 1); };
  for (std::int64_t i = 0; i < count; ++i) {
    rows[i] = {static_cast<U>(keys[i]) ^ kSign, static_cast<std::int32_t>(i)};
    for (int d = 0; d < kDigits; ++d) ++counts[d][digit(rows[i].first, d)];
  }
  for (int d = 0; d < kDigits; ++d) {
    if (counts[d][digit(rows[0].first, d)] == count) continue;
    std::int32_t start = 0;
    for (std::int32_t& n : counts[d]) start += std::exchange(n, start);
    for (const auto& row : rows) moved[counts[d][digit(row.first, d)]++] = row;
    rows.swap(moved);
  }
  std::vector<std::int32_t> order(count);
  for (std::int64_t i = 0; i < count; ++i) order[i] = rows[i].second;
  return order;
}

// A set of places.
class Places {
 public:
  explicit Places(std::int64_t count)
      : bits_(count / kWord + 1), of_words_(bits_.size() + kWord), of_blocks_(count / kBlock + 1) {}

  void enter(std::int32_t place) {
    bits_[place / kWord] |= std::uint64_t{1} << (place % kWord);
    count(place, 1);
  }

  void leave(std::int32_t place) {
    bits_[place / kWord] &= ~(std::uint64_t{1} << (place % kWord));
    count(place, -1);
  }

  // The member before which there are `rank`.
  std::int32_t member(std::int64_t rank) {
    while (before_ > rank) before_ -= of_blocks_[--block_];
    while (before_ + of_blocks_[block_] <= rank) before_ += of_blocks_[block_++];
    std::int64_t word = block_ * (kBlock / kWord), left = rank - before_;
    for (; of_words_[word] <= left; ++word) left -= of_words_[word];
    std::uint64_t bits = bits_[word];
    for (; left > 0; --left) bits &= bits - 1;
    return static_cast<std::int32_t>(word * kWord + __builtin_ctzll(bits));
  }

 private:
  static constexpr std::int64_t kWord = 64, kBlock = 4096;

  void count(std::int32_t place, int change) {
    of_words_[place / kWord] = static_cast<std::uint8_t>(of_words_[place / kWord] + change);
    of_blocks_[place / kBlock] += change;
    before_ += place / kBlock < block_ ? change : 0;
  }

  std::vector<std::uint64_t> bits_;
  std::vector<std::uint8_t> of_words_;
  std::vector<std::int32_t> of_blocks_;
  // Where the last member was found, and how many members are in the blocks before.
  std::int64_t block_ = 0, before_ = 0;
};

void slide(const Windows& windows, const std::int32_t* places, const std::int32_t* order,
           std::int64_t elements, std::int64_t begin, std::int64_t end, std::int32_t* out) {
  Places members(elements);
  const std::int64_t length = windows.length();
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t stop = std::min(end, (i / length + 1) * length);
    const std::int32_t* first = places + windows.start_of(i / length) + i % length;
    for (const std::int64_t o : windows.samples) members.enter(first[o]);
    for (;;) {
      out[i] = order[members.member(windows.rank)];
      if (++i == stop) break;
      for (const std::int64_t o : windows.leaving) members.leave(first[o]);
      ++first;
      for (const std::int64_t o : windows.entering) members.enter(first[o]);
    }
    for (const std::int64_t o : windows.samples) members.leave(first[o]);
  }
}

template <typename Pool, typename I>
void select(Pool& pool, const Windows& windows, const I* keys, std::int64_t elements,
            std::int32_t* out) {
  const std::vector<std::int32_t> order = order_of(keys, elements);
  std::vector<std::int32_t> places(elements);
  for (std::int64_t i = 0; i < elements; ++i) places[order[i]] = static_cast<std::int32_t>(i);
  const std::int64_t count = windows.count();
  const auto edge = static_cast<std::int64_t>(windows.leaving.size_);
  const std::int64_t worth = std::min(count, count * edge / kWorthDividing);
  const std::int64_t most = std::clamp<std::int64_t>(worth, 1, pool.num_threads());
  parts::divided(pool, most, [&](std::int64_t part) {
    slide(windows, places.data(), order.data(), elements, count * part / most,
          count * (part + 1) / most, out);
  });
}

constexpr const char* kWrong = "windows that do not lie in their image";

using Numbers = ffi::Span<const std::int64_t>;

ffi::Error call_from_xla(ffi::ThreadPool pool, ffi::AnyBuffer keys,
                         ffi::Result<ffi::Buffer<ffi::S32>> out, Numbers samples, Numbers leaving,
                         Numbers entering, Numbers image, Numbers results, std::int64_t rank) {
  const auto row = [](Numbers numbers) { return Row{numbers.begin(), numbers.size()}; };
  const Windows windows{row(samples), row(leaving), row(entering), row(image), row(results), rank};
  const auto elements = static_cast<std::int64_t>(keys.element_count());
  if (!windows.are_inside(elements) ||
      windows.count() != static_cast<std::int64_t>(out->element_count())) {
    return ffi::Error::InvalidArgument(kWrong);
  }
  switch (keys.element_type()) {
    case ffi::S32:
      select(pool, windows, static_cast<const std::int32_t*>(keys.untyped_data()), elements,
             out->typed_data());
      return ffi::Error::Success();
    case ffi::S64:
      select(pool, windows, static_cast<const std::int64_t*>(keys.untyped_data()), elements,
             out->typed_data());
      return ffi::Error::Success();
    default:
      return ffi::Error::InvalidArgument("ranks of keys of another dtype");
  }
}

XLA_FFI_DEFINE_HANDLER(handler, Guarded<call_from_xla>{},
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::Buffer<ffi::S32>>()
                           .Attr<Numbers>("samples")
                           .Attr<Numbers>("leaving")
                           .Attr<Numbers>("entering")
                           .Attr<Numbers>("image")
                           .Attr<Numbers>("results")
                           .Attr<std::int64_t>("rank"));

template <typename T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The same of an array, in eager mode, whose threads are ours.
template <typename I>
void find(Vector<const I> keys, Vector<const std::int64_t> samples,
          Vector<const std::int64_t> leaving, Vector<const std::int64_t> entering,
          Vector<const std::int64_t> image, Vector<const std::int64_t> results, std::int64_t rank,
          Vector<std::int32_t> out) {
  const auto row = [](const Vector<const std::int64_t>& v) { return Row{v.data(), v.size()}; };
  const Windows windows{row(samples), row(leaving), row(entering), row(image), row(results), rank};
  const auto elements = static_cast<std::int64_t>(keys.size());
  if (!windows.are_inside(elements) || windows.count() != static_cast<std::int64_t>(out.size()))
    throw nb::value_error(kWrong);
  const I* from = keys.data();
  std::int32_t* to = out.data();
  const process_end::OthersRun others_run;
  select(Workers::shared(), windows, from, elements, to);
}

template <typename I>
void bind_of(nb::module_& module) {
  module.def("find", &find<I>, nb::arg("keys"), nb::arg("samples"), nb::arg("leaving"),
             nb::arg("entering"), nb::arg("image"), nb::arg("results"), nb::arg("rank"),
             nb::arg("out"), "Write which sample of each window has the rank.");
}

}  // namespace

void bind(nb::module_& module) {
  bind_of<std::int32_t>(module);
  bind_of<std::int64_t>(module);
  bind_handler(module, handler, "XLA's way to samples of a rank, as a capsule.");
}

}  // namespace morphax::window_ranks
