// Gamma numbers: the compiled form of `drawn_by_rejection` in `morphax/random/_gamma_numbers.py`.
//
// The steps are those of the program, rounded as XLA rounds them: products that are added are added
// in one step.  So both accept the same candidates.  Numbers are worked on in blocks, whose steps
// are vectors; those that are still open are moved together after each round.  Reference: Marsaglia
// & Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
// Software 26 (2000).
#include "gamma.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "elementary.h"
#include "kernels.h"
#include "threefry.h"

namespace morphax::gamma {

using elementary::bits_as;
using elementary::f32;
using elementary::inverse_erf;
using elementary::log1p;
using elementary::logarithm;
using elementary::u32;
using threefry::Words;

namespace {

constexpr f32 kThird = 1 / 3.0;
constexpr f32 kInfinity = std::numeric_limits<f32>::infinity();
// Numbers that are worked on together: what is known of them stays in the first cache.
constexpr std::size_t kBlock = 256;

// A key whose words are kept apart, as vectors want them.
struct Key {
  u32 high, low;

  // Key `i` of those that it is split into.
  MORPHAX_INLINE Key split(u32 i) const {
    u32 x0 = 0, x1 = i;
    Words(std::uint64_t{high} << 32 | low).encrypt(x0, x1);
    return {x0, x1};
  }

  // A number in [0, 1) with a random mantissa, the first of its stream.
  MORPHAX_INLINE f32 uniform() const {
    const Key image = split(0);
    return bits_as<f32>((image.high ^ image.low) >> 9 | u32{0x3f800000}) - 1;
  }

  MORPHAX_INLINE f32 normal() const {
    constexpr f32 kRootOfTwo = 1.41421356237309504880f, kAboveMinusOne = -0x1.fffffep-1f;
    const f32 u = std::max(kAboveMinusOne, uniform() * 2 + kAboveMinusOne);
    return kRootOfTwo * inverse_erf(u);
  }
};

MORPHAX_INLINE bool is_rejected(f32 square, f32 cube, f32 u, f32 d) {
  const f32 squeeze = __builtin_fmaf(-0.0331f, square * square, 1);
  const f32 log_density = square * 0.5f + d * (1 - cube + logarithm(cube));
  return (u >= squeeze) & (logarithm(u) >= log_density);
}

// Numbers of a block: their keys and parameters, and where they stand.
struct Numbers {
  u32 high[kBlock], low[kBlock], places[kBlock];
  f32 d[kBlock], c[kBlock];

  MORPHAX_INLINE Key key(std::size_t i) const { return {high[i], low[i]}; }
  MORPHAX_INLINE void set_key(std::size_t i, Key key) { high[i] = key.high, low[i] = key.low; }

  void move(std::size_t from, std::size_t to) {
    high[to] = high[from], low[to] = low[from], places[to] = places[from];
    d[to] = d[from], c[to] = c[from];
  }
};

// The candidates of a round, and the keys of the normal numbers that they are made of.
struct Candidates {
  u32 high[kBlock], low[kBlock], rejected[kBlock];
  f32 z[kBlock], root[kBlock], u[kBlock], cube[kBlock];
};

// A candidate for each number: z and 1 + c z, which is to be positive, and u.
MORPHAX_VECTORIZED
void draw_candidates(const Numbers& open, std::size_t count, Candidates& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const Key key = open.key(i), candidate = key.split(1);
    out.high[i] = candidate.high, out.low[i] = candidate.low;
    out.z[i] = candidate.split(1).normal();
    out.root[i] = __builtin_fmaf(out.z[i], open.c[i], 1);
    out.u[i] = key.split(2).uniform();
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (Key key{out.high[i], out.low[i]}; out.root[i] <= 0;) {
      key = key.split(0);
      out.z[i] = key.split(1).normal();
      out.root[i] = __builtin_fmaf(out.z[i], open.c[i], 1);
    }
  }
}

MORPHAX_VECTORIZED
void judge_candidates(const Numbers& open, std::size_t count, Candidates& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const f32 root = out.root[i];
    out.cube[i] = root * root * root;
    out.rejected[i] = is_rejected(out.z[i] * out.z[i], out.cube[i], out.u[i], open.d[i]);
  }
}

// The keys of the next round.
MORPHAX_VECTORIZED
void go_on(Numbers& open, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) open.set_key(i, open.key(i).split(0));
}

// The (1 + c z)^3 of the first accepted candidate, for each of the numbers, which are used up.
void draw_cubes(Numbers& open, std::size_t count, f32* cubes) {
  Candidates candidates;
  const auto keep_rejected = [&] {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (candidates.rejected[i]) open.move(i, kept++);
    }
    count = kept;
  };
  // The first state of the program, which is kept where d is not finite.
  std::fill_n(cubes, count, f32{1});
  for (std::size_t i = 0; i < count; ++i) candidates.rejected[i] = is_rejected(0, 1, 2, open.d[i]);
  for (keep_rejected(); count > 0; go_on(open, count)) {
    draw_candidates(open, count, candidates);
    judge_candidates(open, count, candidates);
    for (std::size_t i = 0; i < count; ++i) cubes[open.places[i]] = candidates.cube[i];
    keep_rejected();
  }
}

// The numbers' keys, and a uniform number of each for those with a below 1.
MORPHAX_VECTORIZED
void begin(std::uint64_t key, std::uint64_t first, std::size_t count, const f32* a, Numbers& all,
           f32* uniforms) {
  const Words words(key);
  // A block does not cross a multiple of 2^32, so all its counters have one high word.
  const u32 high = static_cast<u32>(first >> 32), low = static_cast<u32>(first);
  for (std::size_t i = 0; i < count; ++i) {
    u32 x0 = high, x1 = low + static_cast<u32>(i);
    words.encrypt(x0, x1);
    const Key own{x0, x1};
    uniforms[i] = own.split(1).uniform();
    all.set_key(i, own.split(0));
    const f32 d = (a[i] >= 1 ? a[i] : a[i] + 1) - kThird;
    all.d[i] = d, all.c[i] = kThird / __builtin_sqrtf(d);
    all.places[i] = static_cast<u32>(i);
  }
}

MORPHAX_VECTORIZED
void finish_logarithms(std::size_t count, const f32* a, const f32* d, const f32* cubes,
                       const f32* uniforms, f32* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const f32 log_d = logarithm(d[i]), sum = log_d + logarithm(cubes[i]);
    const f32 logarithm_of_u = log1p(-uniforms[i]);
    // 0 times infinity would be NaN where a is 0.
    const f32 boost = logarithm_of_u == 0 ? 0 : logarithm_of_u * (1 / a[i]);
    out[i] = a[i] >= 1 ? sum : sum + boost;
  }
}

MORPHAX_VECTORIZED
void finish(std::size_t count, const f32* a, const f32* d, const f32* cubes, const f32* uniforms,
            f32* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = d[i] * cubes[i];
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] >= 1) continue;
    const f32 inverse = 1 / a[i];
    const double power = std::pow(static_cast<double>(1 - uniforms[i]), inverse);
    out[i] *= static_cast<f32>(power);
  }
}

void draw_block(std::uint64_t key, std::uint64_t first, std::size_t count, const f32* a, f32* out,
                bool log_space) {
  Numbers numbers;
  f32 uniforms[kBlock], d[kBlock], cubes[kBlock];
  begin(key, first, count, a, numbers, uniforms);
  std::copy_n(numbers.d, count, d);
  draw_cubes(numbers, count, cubes);
  (log_space ? finish_logarithms : finish)(count, a, d, cubes, uniforms, out);
}

}  // namespace

void draw(std::uint64_t key, std::uint64_t first, std::size_t count, const f32* a, f32* out,
          bool log_space) {
  while (count > 0) {
    const std::size_t to_boundary = kBlock - first % kBlock, size = std::min(count, to_boundary);
    draw_block(key, first, size, a, out, log_space);
    first += size, count -= size, a += size, out += size;
  }
}

}  // namespace morphax::gamma
