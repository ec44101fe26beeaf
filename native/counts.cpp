// Poisson and binomial numbers: the compiled form of the programs in
// `morphax/random/_count_numbers.py`, where the methods are told and papers named.
//
// The steps are those of the programs, rounded as XLA rounds them: products that are added are
// added in one step.  So both accept the same candidates.  What differs is how much is computed.
// A number is that of the last round in which its candidate is accepted, of the rounds up to the
// first in which all numbers have been accepted once.  So the number of rounds is found first, and
// then the rounds are gone through backwards, each number as far as its last accepted candidate.
#include "counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "elementary.h"
#include "kernels.h"
#include "threefry.h"

namespace morphax::counts {

using elementary::bits_as;
using elementary::f32;
using elementary::log1p;
using elementary::log_gamma_above_half;
using elementary::logarithm;
using elementary::u32;
using threefry::Words;

namespace {

constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();
// Up to so many events that are expected they are counted one by one.
constexpr f32 kFew = 10;
// Numbers that are worked on together: what is known of them stays in the first cache.
constexpr std::size_t kBlock = 512;

MORPHAX_INLINE f32 unit_of(u32 bits) { return bits_as<f32>(bits >> 9 | u32{0x3f800000}) - 1; }

// Of the stream of a key the numbers in [0, 1) whose places are given, counted from `first`.
MORPHAX_VECTORIZED
void draw_units(std::uint64_t key, std::uint64_t first, const u32* places, std::size_t count,
                f32* out) {
  const Words words(key);
  // A block begins at a multiple of its size, so all its counters have one high word.
  const u32 high = static_cast<u32>(first >> 32), low = static_cast<u32>(first);
  for (std::size_t i = 0; i < count; ++i) {
    u32 x0 = high, x1 = low + places[i];
    words.encrypt(x0, x1);
    out[i] = unit_of(x0 ^ x1);
  }
}

MORPHAX_VECTORIZED
void take_logarithms(std::size_t count, f32* numbers) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = logarithm(numbers[i]);
}

// The places of a block whose numbers are still open.
struct Open {
  std::array<u32, kBlock> places;
  std::size_t count;

  explicit Open(std::size_t size) : count(size) {
    std::iota(places.begin(), places.begin() + size, u32{0});
  }

  // Drops the places of which `is_done(position, place)` says so.
  template <typename IsDone>
  void drop(IsDone is_done) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const u32 place = places[i];
      places[kept] = place;
      kept += !is_done(i, place);
    }
    count = kept;
  }
};

// Calls `work(first, size)` for each block of so many numbers.
template <typename Work>
void for_blocks(std::size_t count, Work work) {
  for (std::size_t first = 0; first < count; first += kBlock) {
    work(first, std::min(kBlock, count - first));
  }
}

// Keys of rounds, made when they are asked for: a round has key `own` of those that the last
// round's key is split into, the next one key `next`.
template <int own, int next>
class Chain {
 public:
  explicit Chain(std::uint64_t key) : key_(key) {}

  std::uint64_t at(std::size_t round) {
    while (keys_.size() <= round) {
      const Words words(key_);
      keys_.push_back(words.image(own));
      key_ = words.image(next);
    }
    return keys_[round];
  }

 private:
  std::uint64_t key_;
  std::vector<std::uint64_t> keys_;
};

// How many steps fit into each length: `Steps` has the length and the next step of a number.
template <typename Steps, int own, int next>
void count_steps(std::uint64_t key, std::size_t count, const Steps& steps, f32* out) {
  Chain<own, next> chain(key);
  for_blocks(count, [&](std::size_t first, std::size_t size) {
    Open open(size);
    std::array<f32, kBlock> way{}, number{}, drawn;
    open.drop([&](std::size_t, u32 place) { return !steps.is_open(first + place, 0); });
    for (std::size_t round = 0; open.count; ++round) {
      draw_units(chain.at(round), first, open.places.data(), open.count, drawn.data());
      take_logarithms(open.count, drawn.data());
      open.drop([&](std::size_t i, u32 place) {
        number[place] += 1;
        way[place] += steps.step(first + place, drawn[i]);
        return !steps.is_open(first + place, way[place]);
      });
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (steps.counts(first + i)) out[first + i] = number[i] - 1;
    }
  });
}

// What a candidate is made of: k = ⌊(2a / s + b) u + c⌋, accepted at once if v is small.
struct Hat {
  f32 twice_a, a, b, c, v_at_once;
};

struct Candidate {
  f32 k, s, v;
};

MORPHAX_INLINE Candidate candidate(const Hat& hat, f32 unit, f32 v) {
  const f32 u = unit - 0.5f, s = 0.5f - __builtin_fabsf(u);
  const f32 k = __builtin_floorf(__builtin_fmaf(hat.twice_a / s + hat.b, u, hat.c));
  return {k, s, v};
}

// The numbers that are drawn by rejection; `Distribution` has the parameters of each of them, the
// hat, the exact test, and says which numbers are wanted: the others take part all the same.
template <typename Distribution>
void draw_by_rejection(std::uint64_t key, std::size_t count, Distribution& distribution, f32* out) {
  Chain<1, 0> first_keys(key);
  Chain<2, 0> second_keys(key);
  std::array<f32, kBlock> units, others;
  const auto go = [&](std::size_t round, std::size_t first, Open& open) {
    draw_units(first_keys.at(round), first, open.places.data(), open.count, units.data());
    draw_units(second_keys.at(round), first, open.places.data(), open.count, others.data());
    open.drop([&](std::size_t i, u32 place) {
      const std::size_t number = first + place;
      distribution.choose(number);
      const Candidate it = candidate(distribution.hat, units[i], others[i]);
      const bool at_once = it.s >= 0.07f && it.v <= distribution.hat.v_at_once;
      if (!at_once && !distribution.is_accepted(it)) return false;
      if (distribution.is_wanted(number)) out[number] = it.k;
      return true;
    });
  };
  std::size_t rounds = 0;
  for_blocks(count, [&](std::size_t first, std::size_t size) {
    std::size_t round = 0;
    for (Open open(size); open.count; ++round) go(round, first, open);
    rounds = std::max(rounds, round);
  });
  if (rounds < 2) return;
  for_blocks(count, [&](std::size_t first, std::size_t size) {
    Open open(size);
    open.drop([&](std::size_t, u32 place) { return !distribution.is_wanted(first + place); });
    // What is accepted in the first round alone has been found above.
    for (std::size_t round = rounds - 1; round && open.count; --round) go(round, first, open);
  });
}

// Waiting times that are added up to the negative of a rate.
struct WaitingTimes {
  const f32* rates;

  bool counts(std::size_t i) const { return !(rates[i] >= kFew); }
  f32 step(std::size_t, f32 logarithm_of_unit) const { return logarithm_of_unit; }
  bool is_open(std::size_t i, f32 way) const { return counts(i) && way > -rates[i]; }
};

struct Poisson {
  const f32* rates;
  Hat hat{};
  f32 rate = kNan, log_rate = 0, inverse_alpha = 0;

  bool is_wanted(std::size_t i) const { return rates[i] >= kFew; }

  void choose(std::size_t i) {
    const f32 wanted = is_wanted(i) ? rates[i] : 1e5f;
    if (rate == wanted) return;
    rate = wanted;
    log_rate = rate == kInfinity ? rate : logarithm(rate);
    const f32 b = __builtin_fmaf(2.53f, __builtin_sqrtf(rate), 0.931f);
    const f32 a = __builtin_fmaf(0.02483f, b, -0.059f);
    inverse_alpha = 1.1239f + 1.1328f / (b - 3.4f);
    hat = {2 * a, a, b, rate + 0.43f, 0.9277f - 3.6224f / (b - 2)};
  }

  bool is_accepted(const Candidate& it) const {
    if (it.k < 0 || (it.s < 0.013f && it.v > it.s)) return false;
    const f32 height = hat.a / (it.s * it.s) + hat.b;
    const f32 log_ratio = logarithm(it.v * inverse_alpha / height);
    const f32 part = __builtin_fmaf(it.k, log_rate, -rate);
    return log_ratio <= part - log_gamma_above_half(it.k + 1);
  }
};

MORPHAX_VECTORIZED
void draw_poisson_row(std::uint64_t key, std::size_t count, const f32* rates, f32* out) {
  count_steps<WaitingTimes, 1, 0>(key, count, WaitingTimes{rates}, out);
  Poisson distribution{rates};
  const auto is_large = [&](f32 rate) { return rate >= kFew; };
  if (std::any_of(rates, rates + count, is_large)) draw_by_rejection(key, count, distribution, out);
  for (std::size_t i = 0; i < count; ++i) {
    if (rates[i] == 0) out[i] = 0;
  }
}

// log k! minus Stirling's (k + ½) log(k + 1) − (k + 1) + ½ log 2π, and beyond 9 its value near 9.
f32 stirling_rest(f32 k) {
  constexpr f32 kRests[] = {0.08106146679532726f, 0.0413406959554093f,  0.02767792568499834f,
                            0.02079067210376509f, 0.01664469118982119f, 0.01387612882307075f,
                            0.01189670994589177f, 0.01041126526197209f, 0.009255462182712733f,
                            0.008330563433362871f};
  constexpr f32 kBeyond = 0.008330563492063492f;
  for (int i = 0; i < 10; ++i) {
    if (k == static_cast<f32>(i)) return kRests[i];
  }
  return kBeyond;
}

// Trials and the probability of their rarer outcome, made such that drawing ends.
struct Trials {
  f32 n, q;
  bool is_rare, is_wrong, is_infinite, is_few;

  Trials(f32 given, f32 p) {
    is_rare = p < 0.5f;
    q = is_rare ? p : 1 - p;
    const bool wrong_n = !(given >= 0), wrong_q = !(q >= 0);
    is_wrong = wrong_n || wrong_q;
    is_infinite = __builtin_fabsf(given) == kInfinity;
    if (wrong_q) q = 0.01f;
    // Where nothing can happen, not even trials without end wait for it.
    n = is_infinite && q == 0 ? 0 : given;
    is_few = wrong_n || n * q <= kFew;
    n = __builtin_floorf(n);
  }
};

// Geometric numbers of trials that are added up to all trials.
struct WaitingTrials {
  const std::vector<Trials>& trials;
  std::vector<f32> log_failure;

  explicit WaitingTrials(const std::vector<Trials>& all) : trials(all) {
    log_failure.reserve(all.size());
    for (const Trials& it : all) log_failure.push_back(log1p(-it.q));
  }
  bool counts(std::size_t i) const { return trials[i].is_few; }
  f32 step(std::size_t i, f32 logarithm_of_unit) const {
    return __builtin_ceilf(logarithm_of_unit / log_failure[i]);
  }
  bool is_open(std::size_t i, f32 way) const { return counts(i) && way <= trials[i].n; }
};

struct Binomial {
  const std::vector<Trials>& trials;
  Hat hat{};
  f32 n = kNan, p = kNan, odds = 0, alpha = 0, mode = 0, at_mode = 0, rests_at_mode = 0;

  bool is_wanted(std::size_t i) const { return !trials[i].is_few; }

  f32 log_odds(f32 k, f32 others) const { return logarithm(odds * (others + 1) / (k + 1)); }

  void choose(std::size_t i) {
    const bool takes_part = is_wanted(i);
    const f32 wanted = takes_part ? trials[i].n : 1e4f, chance = takes_part ? trials[i].q : 0.5f;
    if (n == wanted && p == chance) return;
    n = wanted, p = chance;
    const f32 rest = 1 - p, deviation = __builtin_sqrtf(n * p * rest);
    const f32 b = __builtin_fmaf(2.53f, deviation, 1.15f);
    const f32 a = __builtin_fmaf(0.01f, p, __builtin_fmaf(0.0248f, b, -0.0873f));
    odds = p / rest;
    alpha = (2.83f + 5.1f / b) * deviation;
    mode = __builtin_floorf((n + 1) * p);
    at_mode = (mode + 0.5f) * -log_odds(mode, n - mode);
    rests_at_mode = stirling_rest(mode) + stirling_rest(n - mode);
    hat = {2 * a, a, b, __builtin_fmaf(n, p, 0.5f), 0.92f - 4.2f / b};
  }

  bool is_accepted(const Candidate& it) const {
    if (!(it.k >= 0 && it.k <= n)) return false;
    const f32 height = hat.a / (it.s * it.s) + hat.b;
    const f32 log_ratio = logarithm(it.v * alpha / height);
    const f32 others = n - it.k, ratio = (n - mode + 1) / (others + 1);
    const f32 part = __builtin_fmaf(n + 1, logarithm(ratio), at_mode);
    const f32 log_density = __builtin_fmaf(it.k + 0.5f, log_odds(it.k, others), part);
    const f32 rests = rests_at_mode - stirling_rest(it.k) - stirling_rest(others);
    return log_ratio <= log_density + rests;
  }
};

f32 successes(const Trials& it, f32 p, f32 count) {
  if (it.is_wrong) return kNan;
  if (it.is_infinite) return p == 0 ? count : kInfinity;
  return it.is_rare ? count : it.n - count;
}

MORPHAX_VECTORIZED
void draw_binomial_row(std::uint64_t key, std::size_t count, const f32* n, const f32* p, f32* out) {
  std::vector<Trials> trials;
  trials.reserve(count);
  for (std::size_t i = 0; i < count; ++i) trials.emplace_back(n[i], p[i]);
  count_steps<WaitingTrials, 0, 1>(key, count, WaitingTrials(trials), out);
  Binomial distribution{trials};
  const auto has_many = [](const Trials& it) { return !it.is_few; };
  if (std::any_of(trials.begin(), trials.end(), has_many)) {
    draw_by_rejection(key, count, distribution, out);
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = successes(trials[i], p[i], out[i]);
}

}  // namespace

void draw_poisson(std::uint64_t key, std::size_t count, const float* rates, float* out) {
  draw_poisson_row(key, count, rates, out);
}

void draw_binomial(std::uint64_t key, std::size_t count, const float* n, const float* p,
                   float* out) {
  draw_binomial_row(key, count, n, p, out);
}

}  // namespace morphax::counts
