// Chains with machine code: as in `fused.cpp`, but several steps at once, and in larger blocks.
//
// The code is the native engine's, made of the same operations with the same roundings, so numbers
// have the same bits (`morphax/engines/reference/chain_code.py`).
#include "fused_code.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "fused_chain.h"
#include "objects.h"

namespace morphax::fused {

namespace {

constexpr std::size_t kLine = 64;
constexpr double kForEver = std::numeric_limits<double>::infinity();

std::size_t width_of(Kind kind) {
  switch (kind) {
    case Kind::kKey:
      return 0;
    case Kind::kBoolean:
      return 1;
    case Kind::kWide:
      return sizeof(Wide);
    default:
      return sizeof(Word);
  }
}

std::vector<std::size_t> numbers_of(nb::handle given) {
  std::vector<std::size_t> numbers;
  for (nb::handle number : nb::object(nb::borrow(given)))
    numbers.push_back(nb::cast<std::size_t>(number));
  return numbers;
}

template <typename T>
void fill(void* out, const void* number) {
  std::fill_n(static_cast<T*>(out), kBlockOfCode, *static_cast<const T*>(number));
}

void fill(std::size_t width, void* out, const void* number) {
  if (width == sizeof(Wide)) {
    fill<Wide>(out, number);
  } else if (width == sizeof(Word)) {
    fill<Word>(out, number);
  } else if (width != 0) {
    fill<std::uint8_t>(out, number);
  }
}

}  // namespace

// Where registers lie for the block at hand: in an array, or in memory of this run.
class Code::Places {
 public:
  Places(const Code& code, const Chain& chain, const Arrays& arrays)
      : places_(chain.registers, nullptr), own_(chain.registers, nullptr) {
    std::size_t bytes = code.scratch_bytes_ + 2 * kLine;
    for (const std::size_t width : code.widths_) bytes += width * kBlockOfCode;
    memory_.reset(new std::byte[bytes]);
    auto* free = memory_.get();
    free += (kLine - reinterpret_cast<std::uintptr_t>(free) % kLine) % kLine;
    for (std::size_t i = 0; i < chain.registers; ++i) {
      places_[i] = own_[i] = free;
      free += code.widths_[i] * kBlockOfCode;
    }
    scratch_ = free;
    for (const Constant& constant : chain.constants)
      fill(code.widths_[constant.out], own_[constant.out], &constant.bits);
    for (std::size_t i = 0; i < chain.operands.size(); ++i) {
      const auto& [kind, varies] = chain.operands[i];
      const void* number = arrays.operands[i].data;
      if (kind == Kind::kKey) {
        places_[i] = const_cast<void*>(number);
      } else if (!varies) {
        fill(code.widths_[i], own_[i], number);
      }
    }
  }

  void move_to(const Code& code, const Chain& chain, const Arrays& arrays, std::size_t start) {
    for (std::size_t i = 0; i < chain.operands.size(); ++i) {
      if (chain.operands[i].varies) place(i, code.widths_[i], arrays.operands[i], chain, start);
    }
    for (std::size_t i = 0; i < chain.results.size(); ++i) {
      const std::size_t of = chain.results[i].of;
      places_[of] = static_cast<char*>(arrays.results[i]) + start * code.widths_[of];
    }
  }

  void* const* data() const { return places_.data(); }
  void* scratch() const { return scratch_; }

 private:
  void place(std::size_t i, std::size_t width, const Source& source, const Chain& chain,
             std::size_t start) {
    const std::size_t at = source.length == chain.count ? start : start % source.length;
    if (source.repeats == 1 && at + kBlockOfCode <= source.length) {
      places_[i] = const_cast<char*>(static_cast<const char*>(source.data) + at * width);
      return;
    }
    places_[i] = own_[i];
    if (width == sizeof(Wide)) {
      spread<Wide>(source, start, kBlockOfCode, static_cast<Wide*>(own_[i]));
    } else if (width == sizeof(Word)) {
      spread<Word>(source, start, kBlockOfCode, static_cast<Word*>(own_[i]));
    } else {
      spread<std::uint8_t>(source, start, kBlockOfCode, static_cast<std::uint8_t*>(own_[i]));
    }
  }

  std::vector<void*> places_, own_;
  std::unique_ptr<std::byte[]> memory_;
  void* scratch_ = nullptr;
};

Code::Code(const Chain& chain, nb::object owner, nb::sequence parts, std::size_t scratch_bytes)
    : owner_(std::move(owner)), widths_(chain.registers, 0), scratch_bytes_(scratch_bytes) {
  for (nb::handle given : parts) {
    Part part;
    if (nb::isinstance<nb::int_>(given)) {
      part.step = nb::cast<std::size_t>(given);
      const Step& step = chain.given.at(part.step);
      part.reads.assign(step.operands, step.operands + step.count);
      part.writes = {step.out};
    } else {
      part.compute = reinterpret_cast<Compute>(nb::cast<std::uintptr_t>(given[0]));
      part.reads = numbers_of(given[1]);
      part.writes = numbers_of(given[2]);
    }
    parts_.push_back(std::move(part));
  }
  std::vector<bool> used(chain.registers, false);
  for (const Part& part : parts_) {
    for (const auto* registers : {&part.reads, &part.writes}) {
      for (const std::size_t i : *registers) used.at(i) = true;
    }
  }
  const auto note = [&](std::size_t i, std::size_t width) { widths_[i] = used[i] ? width : 0; };
  for (std::size_t i = 0; i < chain.operands.size(); ++i) note(i, width_of(chain.operands[i].kind));
  for (const Constant& constant : chain.constants)
    note(constant.out, constant.is_wide ? sizeof(Wide) : sizeof(Word));
  for (const Step& step : chain.given) note(step.out, width_of(step.kind));
}

// Such steps are made for blocks of `kBlock`.
void Code::run_single(const Chain& chain, const Part& part, std::size_t start,
                      void* const* places) const {
  constexpr std::size_t kMost = std::size(Step{}.operands);
  Step step = chain.given[part.step];
  for (std::size_t i = 0; i < step.count; ++i) step.operands[i] = i;
  step.out = kMost;
  for (std::size_t done = 0; done < kBlockOfCode; done += kBlock) {
    void* at[kMost + 1] = {};
    const auto place = [&](std::size_t i, std::size_t of) {
      at[i] = static_cast<char*>(places[of]) + done * widths_[of];
    };
    for (std::size_t i = 0; i < step.count; ++i) place(i, part.reads[i]);
    place(kMost, part.writes[0]);
    run_step(step, start + done, kBlock, at);
  }
}

void Code::run(const Chain& chain, const Arrays& arrays, std::size_t begin, std::size_t end) const {
  Places places(*this, chain, arrays);
  std::vector<const void*> read;
  std::vector<void*> written;
  for (std::size_t start = begin; start < end; start += kBlockOfCode) {
    places.move_to(*this, chain, arrays, start);
    for (const Part& part : parts_) {
      if (part.compute == nullptr) {
        run_single(chain, part, start, places.data());
        continue;
      }
      read.clear(), written.clear();
      for (const std::size_t i : part.reads) read.push_back(places.data()[i]);
      for (const std::size_t i : part.writes) written.push_back(places.data()[i]);
      part.compute(read.data(), written.data(), places.scratch());
    }
  }
}

void Purchase::after(double seconds, nb::object make) {
  make_ = std::move(make);
  worth_ = seconds;
  seconds_left_.store(seconds, std::memory_order_relaxed);
}

const Code* Purchase::code(const Chain& chain) {
  if (make_.is_none() || seconds_left_.load(std::memory_order_relaxed) >= 0) return code_.get();
  // Threads that come here meanwhile do without.
  seconds_left_.store(kForEver, std::memory_order_relaxed);
  const nb::object make = std::exchange(make_, nb::none());
  try {
    const nb::object found = call(make);
    if (nb::isinstance<nb::float_>(found)) {
      after(nb::cast<double>(found), make);
    } else if (!found.is_none()) {
      code_ = std::make_unique<const Code>(chain, nb::object(found[0]), nb::sequence(found[1]),
                                           nb::cast<std::size_t>(found[2]));
    }
  } catch (const nb::python_error&) {
    // Somebody has interrupted it: a later run tries again.
    after(worth_, make);
    throw;
  }
  return code_.get();
}

void Purchase::spent(double seconds) {
  const double left = seconds_left_.load(std::memory_order_relaxed);
  seconds_left_.store(left - seconds, std::memory_order_relaxed);
}

}  // namespace morphax::fused
