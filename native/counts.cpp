// Poisson and binomial numbers: the compiled form of the programs in
// `morphax/random/_count_numbers.py`, where the methods are told and papers named.
//
// The steps are those of the programs, rounded as XLA rounds them: products that are added are
// added in one step.  So both accept the same candidates.  What differs is how much is computed.
// A number is that of the last round in which its candidate is accepted, of the rounds up to the
// first in which all numbers have been accepted once.  So the number of rounds is found first, and
// then the rounds are gone through backwards, each number as far as its last accepted candidate.
//
// T is f32 or f64, the precision; Poisson numbers are always drawn in f32.
#include "counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "draw_parts.h"
#include "kernels.h"

namespace morphax::counts {

using draws::f32;
using draws::f64;
using draws::fused;
using draws::logarithm;
using draws::u32;
using elementary::log_gamma_above_half;
using threefry::Words;

namespace {

template <typename T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <typename T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
// Up to so many events that are expected they are counted one by one.
constexpr int kFew = 10;
// Numbers that are worked on together: what is known of them stays in the first cache.
constexpr std::size_t kBlock = 512;

MORPHAX_INLINE f32 log1p(f32 x) { return elementary::log1p(x); }
MORPHAX_INLINE f64 log1p(f64 x) { return std::log1p(x); }

// Lists of places and numbers are worked on as far as whole vectors reach: to end with single
// numbers takes longer, and what lies behind the last one is not looked at.
constexpr std::size_t in_vectors(std::size_t count) { return (count + 7) & ~std::size_t{7}; }
static_assert(in_vectors(kBlock) == kBlock);

// Of the stream of a key the numbers in [0, 1) whose places are given, counted from `first`.
template <typename T>
MORPHAX_VECTORIZED void draw_units(std::uint64_t key, std::uint64_t first, const u32* places,
                                   std::size_t count, T* out) {
  const Words words(key);
  // A block begins at a multiple of its size, so all its counters have one high word.
  const u32 high = static_cast<u32>(first >> 32), low = static_cast<u32>(first);
  for (std::size_t i = 0; i < in_vectors(count); ++i) {
    u32 x0 = high, x1 = low + places[i];
    words.encrypt(x0, x1);
    out[i] = draws::unit_of<T>(x0, x1);
  }
}

template <typename T>
MORPHAX_VECTORIZED void take_logarithms(std::size_t count, T* numbers) {
  for (std::size_t i = 0; i < in_vectors(count); ++i) numbers[i] = logarithm(numbers[i]);
}

// The places of a block whose numbers are still open.
struct Open {
  std::array<u32, kBlock> places;
  std::size_t count;

  explicit Open(std::size_t size) : count(size) {
    std::iota(places.begin(), places.begin() + in_vectors(size), u32{0});
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
template <int own, int next, typename Steps, typename T>
void count_steps(std::uint64_t key, std::size_t count, const Steps& steps, T* out) {
  Chain<own, next> chain(key);
  for_blocks(count, [&](std::size_t first, std::size_t size) {
    Open open(size);
    std::array<T, kBlock> way{}, number{}, drawn;
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
template <typename T>
struct Hat {
  T twice_a, a, b, c, v_at_once;
};

template <typename T>
struct Candidate {
  T k, s, v;
};

template <typename T>
MORPHAX_INLINE Candidate<T> candidate(const Hat<T>& hat, T unit, T v) {
  const T u = unit - T{0.5}, s = T{0.5} - std::abs(u);
  return {std::floor(fused(hat.twice_a / s + hat.b, u, hat.c)), s, v};
}

// The numbers that are drawn by rejection; `Distribution` has the parameters of each of them, the
// hat, the exact test, and says which numbers are wanted: the others take part all the same.
template <typename Distribution, typename T>
void draw_by_rejection(std::uint64_t key, std::size_t count, Distribution& distribution, T* out) {
  Chain<1, 0> first_keys(key);
  Chain<2, 0> second_keys(key);
  std::array<T, kBlock> units, others;
  const auto go = [&](std::size_t round, std::size_t first, Open& open) {
    draw_units(first_keys.at(round), first, open.places.data(), open.count, units.data());
    draw_units(second_keys.at(round), first, open.places.data(), open.count, others.data());
    open.drop([&](std::size_t i, u32 place) {
      const std::size_t number = first + place;
      distribution.choose(number);
      const Candidate<T> it = candidate(distribution.hat, units[i], others[i]);
      const bool at_once = it.s >= static_cast<T>(0.07) && it.v <= distribution.hat.v_at_once;
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
  Hat<f32> hat{};
  f32 rate = kNan<f32>, log_rate = 0, inverse_alpha = 0;

  bool is_wanted(std::size_t i) const { return rates[i] >= kFew; }

  void choose(std::size_t i) {
    const f32 wanted = is_wanted(i) ? rates[i] : 1e5f;
    if (rate == wanted) return;
    rate = wanted;
    log_rate = rate == kInfinity<f32> ? rate : logarithm(rate);
    const f32 b = fused(2.53f, std::sqrt(rate), 0.931f), a = fused(0.02483f, b, -0.059f);
    inverse_alpha = 1.1239f + 1.1328f / (b - 3.4f);
    hat = {2 * a, a, b, rate + 0.43f, 0.9277f - 3.6224f / (b - 2)};
  }

  bool is_accepted(const Candidate<f32>& it) const {
    if (it.k < 0 || (it.s < 0.013f && it.v > it.s)) return false;
    const f32 height = hat.a / (it.s * it.s) + hat.b;
    const f32 log_ratio = logarithm(it.v * inverse_alpha / height);
    const f32 part = fused(it.k, log_rate, -rate);
    return log_ratio <= part - log_gamma_above_half(it.k + 1);
  }
};

MORPHAX_VECTORIZED
void draw_poisson_row(std::uint64_t key, std::size_t count, const f32* rates, f32* out) {
  count_steps<1, 0>(key, count, WaitingTimes{rates}, out);
  Poisson distribution{rates};
  const auto is_large = [&](f32 rate) { return rate >= kFew; };
  if (std::any_of(rates, rates + count, is_large)) draw_by_rejection(key, count, distribution, out);
  for (std::size_t i = 0; i < count; ++i) {
    if (rates[i] == 0) out[i] = 0;
  }
}

// log k! minus Stirling's (k + ½) log(k + 1) − (k + 1) + ½ log 2π, and beyond 9 its value near 9.
template <typename T>
T stirling_rest(T k) {
  constexpr f64 kRests[] = {0.08106146679532726, 0.0413406959554093,  0.02767792568499834,
                            0.02079067210376509, 0.01664469118982119, 0.01387612882307075,
                            0.01189670994589177, 0.01041126526197209, 0.009255462182712733,
                            0.008330563433362871};
  constexpr f64 kBeyond = 0.008330563492063492;
  for (int i = 0; i < 10; ++i) {
    if (k == static_cast<T>(i)) return static_cast<T>(kRests[i]);
  }
  return static_cast<T>(kBeyond);
}

// Trials and the probability of their rarer outcome, made such that drawing ends.
template <typename T>
struct Trials {
  T n, q;
  bool is_rare, is_wrong, is_infinite, is_few;

  Trials(T given, T p) {
    is_rare = p < T{0.5};
    q = is_rare ? p : 1 - p;
    const bool wrong_n = !(given >= 0), wrong_q = !(q >= 0);
    is_wrong = wrong_n || wrong_q;
    is_infinite = std::abs(given) == kInfinity<T>;
    if (wrong_q) q = static_cast<T>(0.01);
    // Where nothing can happen, not even trials without end wait for it.
    n = is_infinite && q == 0 ? 0 : given;
    is_few = wrong_n || n * q <= kFew;
    n = std::floor(n);
  }
};

// Geometric numbers of trials that are added up to all trials.
template <typename T>
struct WaitingTrials {
  const std::vector<Trials<T>>& trials;
  std::vector<T> log_failure;

  explicit WaitingTrials(const std::vector<Trials<T>>& all) : trials(all) {
    log_failure.reserve(all.size());
    for (const Trials<T>& it : all) log_failure.push_back(log1p(-it.q));
  }
  bool counts(std::size_t i) const { return trials[i].is_few; }
  T step(std::size_t i, T logarithm_of_unit) const {
    return std::ceil(logarithm_of_unit / log_failure[i]);
  }
  bool is_open(std::size_t i, T way) const { return counts(i) && way <= trials[i].n; }
};

template <typename T>
struct Binomial {
  const std::vector<Trials<T>>& trials;
  Hat<T> hat{};
  T n = kNan<T>, p = kNan<T>, odds = 0, alpha = 0, mode = 0, at_mode = 0, rests_at_mode = 0;

  bool is_wanted(std::size_t i) const { return !trials[i].is_few; }

  T log_odds(T k, T others) const { return logarithm(odds * (others + 1) / (k + 1)); }

  void choose(std::size_t i) {
    const bool takes_part = is_wanted(i);
    const T wanted = takes_part ? trials[i].n : T{1e4}, chance = takes_part ? trials[i].q : T{0.5};
    if (n == wanted && p == chance) return;
    n = wanted, p = chance;
    const T rest = 1 - p, deviation = std::sqrt(n * p * rest);
    const T b = fused(number(2.53), deviation, number(1.15));
    const T a = fused(number(0.01), p, fused(number(0.0248), b, number(-0.0873)));
    odds = p / rest;
    alpha = (number(2.83) + number(5.1) / b) * deviation;
    mode = std::floor((n + 1) * p);
    at_mode = (mode + T{0.5}) * -log_odds(mode, n - mode);
    rests_at_mode = stirling_rest(mode) + stirling_rest(n - mode);
    hat = {2 * a, a, b, fused(n, p, T{0.5}), number(0.92) - number(4.2) / b};
  }

  bool is_accepted(const Candidate<T>& it) const {
    if (!(it.k >= 0 && it.k <= n)) return false;
    const T height = hat.a / (it.s * it.s) + hat.b;
    const T log_ratio = logarithm(it.v * alpha / height);
    const T others = n - it.k, ratio = (n - mode + 1) / (others + 1);
    const T part = fused(n + 1, logarithm(ratio), at_mode);
    const T log_density = fused(it.k + T{0.5}, log_odds(it.k, others), part);
    const T rests = rests_at_mode - stirling_rest(it.k) - stirling_rest(others);
    return log_ratio <= log_density + rests;
  }

  static constexpr T number(f64 constant) { return static_cast<T>(constant); }
};

template <typename T>
T successes(const Trials<T>& it, T p, T count) {
  if (it.is_wrong) return kNan<T>;
  if (it.is_infinite) return p == 0 ? count : kInfinity<T>;
  return it.is_rare ? count : it.n - count;
}

template <typename T>
MORPHAX_VECTORIZED void draw_binomial_row(std::uint64_t key, std::size_t count, const T* n,
                                          const T* p, T* out) {
  std::vector<Trials<T>> trials;
  trials.reserve(count);
  for (std::size_t i = 0; i < count; ++i) trials.emplace_back(n[i], p[i]);
  count_steps<0, 1>(key, count, WaitingTrials<T>(trials), out);
  Binomial<T> distribution{trials};
  const auto has_many = [](const Trials<T>& it) { return !it.is_few; };
  if (std::any_of(trials.begin(), trials.end(), has_many)) {
    draw_by_rejection(key, count, distribution, out);
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = successes(trials[i], p[i], out[i]);
}

}  // namespace

void draw_poisson(std::uint64_t key, std::size_t count, const float* rates, float* out) {
  draw_poisson_row(key, count, rates, out);
}

template <typename T>
void draw_binomial(std::uint64_t key, std::size_t count, const T* n, const T* p, T* out) {
  draw_binomial_row(key, count, n, p, out);
}

template void draw_binomial(std::uint64_t, std::size_t, const f32*, const f32*, f32*);
template void draw_binomial(std::uint64_t, std::size_t, const f64*, const f64*, f64*);

}  // namespace morphax::counts
