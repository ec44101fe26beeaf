// Gamma numbers: the compiled form of `drawn_by_rejection` in `morphax/random/_gamma_numbers.py`.
//
// The steps are those of the program, rounded as XLA rounds them: products that are added are added
// in one step.  So both accept the same candidates.  Numbers are worked on in blocks, whose steps
// are vectors; those that are still open are moved together after each round.  Reference: Marsaglia
// & Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
// Software 26 (2000).
//
// T is f32 or f64, the precision.  Of f64 the last digits of functions are not XLA's: of 10¹³
// candidates one may be judged otherwise.
#include "gamma.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "draw_parts.h"
#include "inverse_erf.h"
#include "kernels.h"

namespace morphax::gamma {

using draws::f32;
using draws::f64;
using draws::fused;
using draws::Key;
using draws::logarithm;
using draws::logarithm_of_rest;
using draws::u32;
using threefry::Words;

namespace {

template <typename T>
constexpr T kThird = static_cast<T>(1 / 3.0);
// Numbers that are worked on together: what is known of them stays in the first cache.
constexpr std::size_t kBlock = 256;

// A number on (-1, 1), of which erf⁻¹ makes a normal one of variance ½.
template <typename T>
MORPHAX_INLINE T between_ones(Key key) {
  constexpr T kAboveMinusOne = std::numeric_limits<T>::epsilon() / 2 - 1;
  return std::max(kAboveMinusOne, key.uniform<T>() * 2 + kAboveMinusOne);
}

MORPHAX_VECTORIZED
void take_inverse_erf(std::size_t count, const f32* x, f32* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = elementary::inverse_erf(x[i]);
}
void take_inverse_erf(std::size_t count, const f64* x, f64* out) {
  inverse_erf::wide_erf_inv(count, x, nullptr, nullptr, out);
}

template <typename T>
MORPHAX_INLINE bool is_rejected(T square, T cube, T u, T d) {
  const T squeeze = fused(static_cast<T>(-0.0331), square * square, T{1});
  const T log_density = square * T{0.5} + d * (1 - cube + logarithm(cube));
  return (u >= squeeze) & (logarithm(u) >= log_density);
}

// Numbers of a block: their keys and parameters, and where they stand.
template <typename T>
struct Numbers {
  u32 high[kBlock], low[kBlock], places[kBlock];
  T d[kBlock], c[kBlock];

  MORPHAX_INLINE Key key(std::size_t i) const { return {high[i], low[i]}; }
  MORPHAX_INLINE void set_key(std::size_t i, Key key) { high[i] = key.high, low[i] = key.low; }

  void move(std::size_t from, std::size_t to) {
    high[to] = high[from], low[to] = low[from], places[to] = places[from];
    d[to] = d[from], c[to] = c[from];
  }
};

// The candidates of a round, and the keys of the normal numbers that they are made of.
template <typename T>
struct Candidates {
  u32 high[kBlock], low[kBlock], rejected[kBlock];
  T between_ones[kBlock], z[kBlock], root[kBlock], u[kBlock], cube[kBlock];
};

template <typename T>
MORPHAX_VECTORIZED void draw_uniforms(const Numbers<T>& open, std::size_t count,
                                      Candidates<T>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const Key key = open.key(i), candidate = key.split(1);
    out.high[i] = candidate.high, out.low[i] = candidate.low;
    out.between_ones[i] = between_ones<T>(candidate.split(1));
    out.u[i] = key.split(2).template uniform<T>();
  }
}

// z and 1 + c z of number `i`, of erf⁻¹.
template <typename T>
MORPHAX_INLINE void finish_candidate(const Numbers<T>& open, std::size_t i, T inverse_erf,
                                     Candidates<T>& out) {
  out.z[i] = static_cast<T>(1.41421356237309504880) * inverse_erf;
  out.root[i] = fused(out.z[i], open.c[i], T{1});
}

template <typename T>
MORPHAX_VECTORIZED void finish_candidates(const Numbers<T>& open, std::size_t count,
                                          Candidates<T>& out) {
  for (std::size_t i = 0; i < count; ++i) finish_candidate(open, i, out.z[i], out);
}

// A candidate for each number: z and 1 + c z, which is to be positive, and u.
template <typename T>
void draw_candidates(const Numbers<T>& open, std::size_t count, Candidates<T>& out) {
  draw_uniforms(open, count, out);
  take_inverse_erf(count, out.between_ones, out.z);
  finish_candidates(open, count, out);
  for (std::size_t i = 0; i < count; ++i) {
    for (Key key{out.high[i], out.low[i]}; out.root[i] <= 0;) {
      key = key.split(0);
      const T x = between_ones<T>(key.split(1));
      T inverse_erf;
      take_inverse_erf(1, &x, &inverse_erf);
      finish_candidate(open, i, inverse_erf, out);
    }
  }
}

template <typename T>
MORPHAX_VECTORIZED void judge_candidates(const Numbers<T>& open, std::size_t count,
                                         Candidates<T>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const T root = out.root[i];
    out.cube[i] = root * root * root;
    out.rejected[i] = is_rejected(out.z[i] * out.z[i], out.cube[i], out.u[i], open.d[i]);
  }
}

// The keys of the next round.
template <typename T>
MORPHAX_VECTORIZED void go_on(Numbers<T>& open, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) open.set_key(i, open.key(i).split(0));
}

// The (1 + c z)^3 of the first accepted candidate, for each of the numbers, which are used up.
template <typename T>
void draw_cubes(Numbers<T>& open, std::size_t count, T* cubes) {
  Candidates<T> candidates;
  const auto keep_rejected = [&] {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (candidates.rejected[i]) open.move(i, kept++);
    }
    count = kept;
  };
  // The first state of the program, which is kept where d is not finite.
  std::fill_n(cubes, count, T{1});
  for (std::size_t i = 0; i < count; ++i) {
    candidates.rejected[i] = is_rejected<T>(0, 1, 2, open.d[i]);
  }
  for (keep_rejected(); count > 0; go_on(open, count)) {
    draw_candidates(open, count, candidates);
    judge_candidates(open, count, candidates);
    for (std::size_t i = 0; i < count; ++i) cubes[open.places[i]] = candidates.cube[i];
    keep_rejected();
  }
}

// The numbers' keys, and a uniform number of each for those with a below 1.
template <typename T>
MORPHAX_VECTORIZED void begin(std::uint64_t key, std::uint64_t first, std::size_t count, const T* a,
                              Numbers<T>& all, T* uniforms) {
  const Words words(key);
  // A block does not cross a multiple of 2^32, so all its counters have one high word.
  const u32 high = static_cast<u32>(first >> 32), low = static_cast<u32>(first);
  for (std::size_t i = 0; i < count; ++i) {
    u32 x0 = high, x1 = low + static_cast<u32>(i);
    words.encrypt(x0, x1);
    const Key own{x0, x1};
    uniforms[i] = own.split(1).template uniform<T>();
    all.set_key(i, own.split(0));
    const T d = (a[i] >= 1 ? a[i] : a[i] + 1) - kThird<T>;
    all.d[i] = d, all.c[i] = kThird<T> / std::sqrt(d);
    all.places[i] = static_cast<u32>(i);
  }
}

template <typename T>
MORPHAX_VECTORIZED void finish_logarithms(std::size_t count, const T* a, const T* d, const T* cubes,
                                          const T* uniforms, T* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const T log_d = logarithm(d[i]), sum = log_d + logarithm(cubes[i]);
    const T logarithm_of_u = logarithm_of_rest(uniforms[i]);
    // 0 times infinity would be NaN where a is 0.
    const T boost = logarithm_of_u == 0 ? 0 : logarithm_of_u * (1 / a[i]);
    out[i] = a[i] >= 1 ? sum : sum + boost;
  }
}

template <typename T>
MORPHAX_VECTORIZED void finish(std::size_t count, const T* a, const T* d, const T* cubes,
                               const T* uniforms, T* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = d[i] * cubes[i];
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] >= 1) continue;
    const T inverse = 1 / a[i];
    out[i] *= static_cast<T>(std::pow(static_cast<f64>(1 - uniforms[i]), f64{inverse}));
  }
}

template <typename T>
void draw_block(std::uint64_t key, std::uint64_t first, std::size_t count, const T* a, T* out,
                bool log_space) {
  Numbers<T> numbers;
  T uniforms[kBlock], d[kBlock], cubes[kBlock];
  begin(key, first, count, a, numbers, uniforms);
  std::copy_n(numbers.d, count, d);
  draw_cubes(numbers, count, cubes);
  (log_space ? finish_logarithms<T> : finish<T>)(count, a, d, cubes, uniforms, out);
}

}  // namespace

template <typename T>
void draw(std::uint64_t key, std::uint64_t first, std::size_t count, const T* a, T* out,
          bool log_space) {
  while (count > 0) {
    const std::size_t to_boundary = kBlock - first % kBlock, size = std::min(count, to_boundary);
    draw_block(key, first, size, a, out, log_space);
    first += size, count -= size, a += size, out += size;
  }
}

template void draw(std::uint64_t, std::uint64_t, std::size_t, const f32*, f32*, bool);
template void draw(std::uint64_t, std::uint64_t, std::size_t, const f64*, f64*, bool);

}  // namespace morphax::gamma
