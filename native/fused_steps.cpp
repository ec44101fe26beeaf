// The steps of a chain, block by block, in registers.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "fused_chain.h"
#include "random.h"

namespace morphax::fused {

namespace {

// Registers of few elements fit the stack.
constexpr std::size_t kOnStack = 1024;

void run_inner(const Step& step, std::size_t size, void* const* places) {
  char* at[4];
  std::size_t i = 0;
  for (; i < step.count; ++i) at[i] = static_cast<char*>(places[step.operands[i]]);
  at[i] = static_cast<char*>(places[step.out]);
  const auto width = static_cast<npy_intp>(step.width);
  const npy_intp steps[] = {width, width, width, width};
  const auto count = static_cast<npy_intp>(size);
  step.numpys.inner(at, &count, steps, step.numpys.data);
}

}  // namespace

void run_step(const Step& step, std::size_t start, std::size_t size, void* const* places) {
  const auto& [a, b, c] = step.operands;
  if (step.numpys.inner != nullptr) {
    run_inner(step, size, places);
  } else if (step.loop != nullptr) {
    step.loop(size, places[a], places[b], places[c], places[step.out]);
  } else {
    std::uint64_t key = 0;
    std::memcpy(&key, places[a], sizeof(key));
    if (step.is_wide) {
      random::draw_words(key, start, size, static_cast<Wide*>(places[step.out]));
    } else {
      random::draw_words(key, start, size, static_cast<Word*>(places[step.out]));
    }
  }
  if (step.rounds != nullptr) step.rounds(size, static_cast<Word*>(places[step.out]));
}

namespace {

// Registers, and where each of them lies for the block at hand: in an array where that is possible.
class Registers {
 public:
  explicit Registers(const Chain& chain)
      : size_(chain.block()),
        stride_(size_ * chain.words_of_element),
        slots_(chain.slots),
        places_(chain.registers) {
    if (chain.slot_count * stride_ > kOnStack) heap_.reset(new Word[chain.slot_count * stride_]);
    words_ = heap_ ? heap_.get() : stack_;
    for (std::size_t i = 0; i < chain.registers; ++i) places_[i] = own(i);
  }

  std::size_t size() const { return size_; }
  Word* own(std::size_t i) { return words_ + slots_[i] * stride_; }
  void* const* places() const { return places_.data(); }
  void place(std::size_t i, const void* where) { places_[i] = const_cast<void*>(where); }
  void fill(std::size_t i, Wide bits, bool is_wide) {
    if (is_wide) {
      std::fill_n(reinterpret_cast<Wide*>(own(i)), size_, bits);
    } else {
      std::fill_n(own(i), size_, static_cast<Word>(bits));
    }
  }

 private:
  std::size_t size_, stride_;
  const std::vector<std::size_t>& slots_;
  std::vector<void*> places_;
  std::unique_ptr<Word[]> heap_;
  Word* words_;
  alignas(64) Word stack_[kOnStack];
};

// A number of an operand as registers have it.
Wide bits_of(Kind kind, const void* data) {
  Wide wide = 0;
  Word word = 0;
  switch (kind) {
    case Kind::kWide:
      std::memcpy(&wide, data, sizeof(wide));
      return wide;
    case Kind::kBfloat16:
      words_of_bfloat16(static_cast<const Narrow*>(data), 1, &word);
      return word;
    case Kind::kFloat16:
      words_of_float16(static_cast<const Narrow*>(data), 1, &word);
      return word;
    case Kind::kBoolean:
      return *static_cast<const std::uint8_t*>(data);
    default:
      std::memcpy(&word, data, sizeof(word));
      return word;
  }
}

void load_numbers_that_stay(const Chain& chain, const Arrays& arrays, Registers& registers) {
  for (const Constant& constant : chain.constants)
    registers.fill(constant.out, constant.bits, constant.is_wide);
  for (std::size_t i = 0; i < chain.operands.size(); ++i) {
    const auto& [kind, varies] = chain.operands[i];
    if (kind == Kind::kKey) {
      registers.place(i, arrays.operands[i].data);
    } else if (!varies) {
      registers.fill(i, bits_of(kind, arrays.operands[i].data), kind == Kind::kWide);
    }
  }
  for (const Step& step : chain.once) run_step(step, 0, registers.size(), registers.places());
}

void load_spread(Kind kind, const Source& source, std::size_t start, std::size_t size, Word* out) {
  if (kind == Kind::kWide) {
    spread<Wide>(source, start, size, reinterpret_cast<Wide*>(out));
  } else if (kind == Kind::kWord) {
    spread<Word>(source, start, size, out);
  } else if (kind == Kind::kBoolean) {
    spread<std::uint8_t>(source, start, size, out);
  } else {
    spread<Narrow>(source, start, size, out);
    if (kind == Kind::kFloat16) return widen_float16(size, out);
    for (std::size_t i = 0; i < size; ++i) out[i] <<= 16;
  }
}

void load_block(const Chain& chain, const Arrays& arrays, Registers& registers, std::size_t start,
                std::size_t size) {
  for (std::size_t i = 0; i < chain.operands.size(); ++i) {
    const auto& [kind, varies] = chain.operands[i];
    if (!varies) continue;
    const Source& source = arrays.operands[i];
    const std::size_t width = kind == Kind::kWide ? sizeof(Wide) : sizeof(Word);
    const std::size_t at = start % source.length;
    const bool lies_in_a_row = source.repeats == 1 && at + size <= source.length;
    if (source.length != chain.count && lies_in_a_row &&
        (kind == Kind::kWord || kind == Kind::kWide)) {
      registers.place(i, static_cast<const char*>(source.data) + at * width);
    } else if (source.length != chain.count) {
      registers.place(i, registers.own(i));
      load_spread(kind, source, start, size, registers.own(i));
    } else if (kind == Kind::kWide) {
      registers.place(i, static_cast<const Wide*>(source.data) + start);
    } else if (kind == Kind::kWord) {
      registers.place(i, static_cast<const Word*>(source.data) + start);
    } else if (kind == Kind::kBfloat16) {
      words_of_bfloat16(static_cast<const Narrow*>(source.data) + start, size, registers.own(i));
    } else if (kind == Kind::kFloat16) {
      words_of_float16(static_cast<const Narrow*>(source.data) + start, size, registers.own(i));
    } else {
      const auto* flags = static_cast<const std::uint8_t*>(source.data) + start;
      words_of_flags(flags, size, registers.own(i));
    }
  }
  for (std::size_t i = 0; i < chain.results.size(); ++i) {
    const auto& [of, kind, dtype] = chain.results[i];
    if (kind == Kind::kWord) {
      registers.place(of, static_cast<Word*>(arrays.results[i]) + start);
    } else if (kind == Kind::kWide) {
      registers.place(of, static_cast<Wide*>(arrays.results[i]) + start);
    }
  }
}

// What results have in other forms than registers.
void store_block(const Chain& chain, const Arrays& arrays, Registers& registers, std::size_t start,
                 std::size_t size) {
  for (std::size_t i = 0; i < chain.results.size(); ++i) {
    const auto& [of, kind, dtype] = chain.results[i];
    const Word* words = registers.own(of);
    if (kind == Kind::kBoolean) {
      flags_of_words(words, size, static_cast<std::uint8_t*>(arrays.results[i]) + start);
    } else if (kind == Kind::kBfloat16) {
      bfloat16_of_words(words, size, static_cast<Narrow*>(arrays.results[i]) + start);
    } else if (kind == Kind::kFloat16) {
      float16_of_words(words, size, static_cast<Narrow*>(arrays.results[i]) + start);
    }
  }
}

}  // namespace

void run_steps(const Chain& chain, const Arrays& arrays, std::size_t begin, std::size_t end) {
  Registers registers(chain);
  load_numbers_that_stay(chain, arrays, registers);
  for (std::size_t start = begin; start < end; start += chain.block()) {
    const std::size_t size = std::min(chain.block(), end - start);
    load_block(chain, arrays, registers, start, size);
    for (const Step& step : chain.steps) run_step(step, start, size, registers.places());
    store_block(chain, arrays, registers, start, size);
  }
}

}  // namespace morphax::fused
