// Which steps of a chain are done once, which are joined, and where its registers have memory.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "fused_chain.h"

namespace morphax::fused {

namespace {

bool reads(const Step& step, std::size_t of) {
  return std::find(step.operands, step.operands + step.count, of) != step.operands + step.count;
}

bool is_result(const Chain& chain, std::size_t of) {
  return std::any_of(chain.results.begin(), chain.results.end(),
                     [of](const Result& one) { return one.of == of; });
}

// Steps of numbers that stay are done once for all blocks.  Functions of NumPy are not: the numbers
// that do not fill a vector may be computed by other instructions.
void find_numbers_that_stay(Chain& chain) {
  std::vector<bool> stays(chain.registers, false);
  for (std::size_t i = 0; i < chain.operands.size(); ++i)
    stays[i] = !chain.operands[i].varies && chain.operands[i].kind != Kind::kKey;
  for (const Constant& constant : chain.constants) stays[constant.out] = true;
  std::vector<Step> left;
  for (const Step& step : chain.steps) {
    const bool is_done_once = step.loop != nullptr && !is_result(chain, step.out) &&
                              std::all_of(step.operands, step.operands + step.count,
                                          [&](std::size_t of) { return stays[of]; });
    stays[step.out] = is_done_once;
    (is_done_once ? chain.once : left).push_back(step);
  }
  chain.steps = std::move(left);
}

// A sum whose first term is a product that nobody else reads is one step, with both roundings.
void join_products(Chain& chain) {
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    Step& sum = chain.steps[i];
    const auto product =
        std::find_if(chain.steps.begin(), chain.steps.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const Step& step) { return step.out == sum.operands[0]; });
    if (product == chain.steps.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const Loop joined = sum.rounds != nullptr || product->rounds != nullptr
                            ? nullptr
                            : product_with_sum(product->loop, sum.loop);
    const auto readers = std::count_if(chain.steps.begin(), chain.steps.end(),
                                       [&](const Step& one) { return reads(one, product->out); });
    if (joined == nullptr || readers > 1 || sum.operands[1] == product->out ||
        is_result(chain, product->out))
      continue;
    sum.loop = joined;
    sum.operands[2] = sum.operands[1];
    std::copy_n(product->operands, 2, sum.operands);
    sum.count = 3;
    chain.steps.erase(product);
    --i;
  }
}

// Gives registers their memory, and again where nobody reads what lies there any more.
void give_memory(Chain& chain) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last(chain.registers, kNone), free;
  // What steps of each block do not write is there for all of them.
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    for (std::size_t j = 0; j < chain.steps[i].count; ++j) last[chain.steps[i].operands[j]] = i;
  }
  chain.slots.assign(chain.registers, kNone);
  const std::size_t stay = chain.operands.size() + chain.constants.size();
  for (std::size_t i = 0; i < stay; ++i) chain.slots[i] = chain.slot_count++;
  for (const Step& step : chain.once) chain.slots[step.out] = chain.slot_count++;
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const Step& step = chain.steps[i];
    if (free.empty()) free.push_back(chain.slot_count++);
    chain.slots[step.out] = free.back();
    free.pop_back();
    const auto leave = [&](std::size_t of) {
      const bool is_step = std::any_of(chain.steps.begin(), chain.steps.end(),
                                       [of](const Step& one) { return one.out == of; });
      if (is_step && !is_result(chain, of) && last[of] != kNone) {
        free.push_back(chain.slots[of]);
        last[of] = kNone;
      }
    };
    for (std::size_t j = 0; j < step.count; ++j) {
      if (last[step.operands[j]] == i) leave(step.operands[j]);
    }
  }
  // What was joined has no memory of its own.
  std::replace(chain.slots.begin(), chain.slots.end(), kNone, std::size_t{0});
}

}  // namespace

void lay_out(Chain& chain) {
  find_numbers_that_stay(chain);
  join_products(chain);
  give_memory(chain);
}

}  // namespace morphax::fused
