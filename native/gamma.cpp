// Gamma numbers: the compiled form of `drawn_by_rejection` in `morphax/random/_gamma_numbers.py`.
//
// The steps are those of the program, rounded as XLA rounds them: products that are added are added
// in one step.  So both accept the same candidates.  Numbers are worked on in blocks, whose steps
// are vectors; those that are still open are moved together after each round.  Reference: Marsaglia
// & Tsang, "A simple method for generating gamma variables", ACM Transactions on Mathematical
// Software 26 (2000).
//
// T is the precision: f32, f64 or `Half` of a format.  Of f64 the last digits of functions are not
// XLA's: of 10¹³ candidates one may be judged otherwise.
#include "gamma.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "draw_keys.h"
#include "draw_parts.h"
#include "inverse_erf.h"
#include "kernels.h"

namespace morphax::gamma {

using draws::Bfloat16;
using draws::chosen;
using draws::f32;
using draws::f64;
using draws::Float16;
using draws::fused;
using draws::Half;
using draws::kEpsilon;
using draws::logarithm;
using draws::logarithm_of_rest;
using draws::Stored;
using draws::u32;

namespace {

// Numbers that are worked on together: what is known of them stays in the first cache.
constexpr std::size_t kBlock = 256;

// A number on (-1, 1), of which erf⁻¹ makes a normal one of variance ½.
template <typename T, typename Key>
MORPHAX_INLINE T between_ones(Key key) {
  const T above_minus_one = kEpsilon<T> / 2 - 1;
  const T number = key.template uniform<T>() * T(2) + above_minus_one;
  return chosen(number < above_minus_one, above_minus_one, number);
}

MORPHAX_VECTORIZED
void take_inverse_erf(std::size_t count, const f32* x, f32* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = elementary::inverse_erf(x[i]);
}
void take_inverse_erf(std::size_t count, const f64* x, f64* out) {
  inverse_erf::wide_erf_inv(count, x, nullptr, nullptr, out);
}
template <typename Format>
MORPHAX_VECTORIZED void take_inverse_erf(std::size_t count, const Half<Format>* x,
                                         Half<Format>* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = elementary::inverse_erf(x[i].value);
}

// ⅓ / √d.  XLA makes a product of it where the numbers are of float16.
template <typename T>
MORPHAX_INLINE T third_of_root(T d) {
  return T(1 / 3.0) / std::sqrt(d);
}
MORPHAX_INLINE Half<Bfloat16> third_of_root(Half<Bfloat16> d) {
  return Half<Bfloat16>(1 / 3.0) / std::sqrt(d.value);
}
MORPHAX_INLINE Half<Float16> third_of_root(Half<Float16> d) {
  return Half<Float16>(1 / 3.0) * (Half<Float16>(1) / std::sqrt(d.value));
}

MORPHAX_INLINE f64 power(f64 x, f64 y) { return std::pow(x, y); }
MORPHAX_INLINE f32 power(f32 x, f32 y) { return static_cast<f32>(std::pow(f64{x}, f64{y})); }
template <typename Format>
MORPHAX_INLINE Half<Format> power(Half<Format> x, Half<Format> y) {
  return power(x.value, y.value);
}

template <typename T>
MORPHAX_INLINE bool is_rejected(T square, T cube, T u, T d) {
  const T squeeze = fused(T(-0.0331), square * square, T(1));
  const T log_density = square * T(0.5) + d * (T(1) - cube + logarithm(cube));
  return (u >= squeeze) & (logarithm(u) >= log_density);
}

// The keys of a block, all first words, then all second ones and so on.
template <typename Key>
struct Keys {
  static constexpr std::size_t kWords = 2 * Key::kWide;
  u32 words[kWords][kBlock];

  MORPHAX_INLINE Key at(std::size_t i) const {
    Key key;
    for (std::size_t j = 0; j < kWords; ++j) key.words[j] = words[j][i];
    return key;
  }
  MORPHAX_INLINE void set(std::size_t i, const Key& key) {
    for (std::size_t j = 0; j < kWords; ++j) words[j][i] = key.words[j];
  }
};

// Numbers of a block: their keys and parameters, and where they stand.
template <typename T, typename Key>
struct Numbers {
  Keys<Key> keys;
  u32 places[kBlock];
  T d[kBlock], c[kBlock];

  void move(std::size_t from, std::size_t to) {
    keys.set(to, keys.at(from));
    places[to] = places[from], d[to] = d[from], c[to] = c[from];
  }
};

// The candidates of a round, and the keys of the normal numbers that they are made of.
template <typename T, typename Key>
struct Candidates {
  Keys<Key> keys;
  u32 rejected[kBlock];
  T between_ones[kBlock], z[kBlock], root[kBlock], u[kBlock], cube[kBlock];
};

template <typename T, typename Key>
MORPHAX_VECTORIZED void draw_uniforms(const Numbers<T, Key>& open, std::size_t count,
                                      Candidates<T, Key>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const Key key = open.keys.at(i), candidate = key.split(1);
    out.keys.set(i, candidate);
    out.between_ones[i] = between_ones<T>(candidate.split(1));
    out.u[i] = key.split(2).template uniform<T>();
  }
}

// z and 1 + c z of number `i`, of erf⁻¹.
template <typename T, typename Key>
MORPHAX_INLINE void finish_candidate(const Numbers<T, Key>& open, std::size_t i, T inverse_erf,
                                     Candidates<T, Key>& out) {
  out.z[i] = T(1.41421356237309504880) * inverse_erf;
  out.root[i] = fused(out.z[i], open.c[i], T(1));
}

template <typename T, typename Key>
MORPHAX_VECTORIZED void finish_candidates(const Numbers<T, Key>& open, std::size_t count,
                                          Candidates<T, Key>& out) {
  for (std::size_t i = 0; i < count; ++i) finish_candidate(open, i, out.z[i], out);
}

// A candidate for each number: z and 1 + c z, which is to be positive, and u.
template <typename T, typename Key>
void draw_candidates(const Numbers<T, Key>& open, std::size_t count, Candidates<T, Key>& out) {
  draw_uniforms(open, count, out);
  take_inverse_erf(count, out.between_ones, out.z);
  finish_candidates(open, count, out);
  for (std::size_t i = 0; i < count; ++i) {
    for (Key key = out.keys.at(i); out.root[i] <= T(0);) {
      key = key.split(0);
      const T x = between_ones<T>(key.split(1));
      T inverse_erf;
      take_inverse_erf(1, &x, &inverse_erf);
      finish_candidate(open, i, inverse_erf, out);
    }
  }
}

template <typename T, typename Key>
MORPHAX_VECTORIZED void judge_candidates(const Numbers<T, Key>& open, std::size_t count,
                                         Candidates<T, Key>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const T root = out.root[i];
    out.cube[i] = root * root * root;
    out.rejected[i] = is_rejected(out.z[i] * out.z[i], out.cube[i], out.u[i], open.d[i]);
  }
}

// The keys of the next round.
template <typename T, typename Key>
MORPHAX_VECTORIZED void go_on(Numbers<T, Key>& open, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) open.keys.set(i, open.keys.at(i).split(0));
}

// The (1 + c z)^3 of the first accepted candidate, for each of the numbers, which are used up.
template <typename T, typename Key>
void draw_cubes(Numbers<T, Key>& open, std::size_t count, T* cubes) {
  Candidates<T, Key> candidates;
  const auto keep_rejected = [&] {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (candidates.rejected[i]) open.move(i, kept++);
    }
    count = kept;
  };
  // The first state of the program, which is kept where d is not finite.
  std::fill_n(cubes, count, T(1));
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
template <typename T, typename Key>
MORPHAX_VECTORIZED void begin(Key key, std::uint64_t first, std::size_t count, const T* a,
                              Numbers<T, Key>& all, T* uniforms) {
  // A block does not cross a multiple of 2^32, so all its counters have one high word.
  const u32 high = static_cast<u32>(first >> 32), low = static_cast<u32>(first);
  for (std::size_t i = 0; i < count; ++i) {
    const Key own = key.split(low + static_cast<u32>(i), high);
    uniforms[i] = own.split(1).template uniform<T>();
    all.keys.set(i, own.split(0));
    const T d = chosen(a[i] >= T(1), a[i], a[i] + T(1)) - T(1 / 3.0);
    all.d[i] = d, all.c[i] = third_of_root(d);
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
    const bool is_one = (a[i] >= T(1)) | (logarithm_of_u == T(0));
    out[i] = chosen(is_one, sum, sum + logarithm_of_u * (T(1) / a[i]));
  }
}

template <typename T>
MORPHAX_VECTORIZED void finish(std::size_t count, const T* a, const T* d, const T* cubes,
                               const T* uniforms, T* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = d[i] * cubes[i];
  for (std::size_t i = 0; i < count; ++i) {
    if (!(a[i] >= T(1))) out[i] = out[i] * power(T(1) - uniforms[i], T(1) / a[i]);
  }
}

// Numbers `first` to `first + count` of the stream, which are not more than a block.
template <typename T, typename Key>
void draw_block(Key key, std::uint64_t first, std::size_t count, const T* a, T* out,
                bool log_space) {
  Numbers<T, Key> numbers;
  T uniforms[kBlock], d[kBlock], cubes[kBlock];
  begin(key, first, count, a, numbers, uniforms);
  std::copy_n(numbers.d, count, d);
  draw_cubes(numbers, count, cubes);
  (log_space ? finish_logarithms<T> : finish<T>)(count, a, d, cubes, uniforms, out);
}
template <typename Format, typename Key>
void draw_block(Key key, std::uint64_t first, std::size_t count, const Stored<Format>* a,
                Stored<Format>* out, bool log_space) {
  Half<Format> parameters[kBlock], numbers[kBlock];
  std::copy_n(a, count, parameters);
  draw_block(key, first, count, parameters, numbers, log_space);
  for (std::size_t i = 0; i < count; ++i) out[i] = numbers[i].stored();
}

}  // namespace

template <typename Number, typename Key>
void draw(Key key, std::uint64_t first, std::size_t count, const Number* a, Number* out,
          bool log_space) {
  while (count > 0) {
    const std::size_t to_boundary = kBlock - first % kBlock, size = std::min(count, to_boundary);
    draw_block(key, first, size, a, out, log_space);
    first += size, count -= size, a += size, out += size;
  }
}

#define MORPHAX_DRAW(Number, Key) \
  template void draw(draws::Key, std::uint64_t, std::size_t, const Number*, Number*, bool);
#define MORPHAX_DRAW_ALL(Number)    \
  MORPHAX_DRAW(Number, ThreefryKey) \
  MORPHAX_DRAW(Number, RbgKey)      \
  MORPHAX_DRAW(Number, UnsafeRbgKey)
MORPHAX_DRAW_ALL(f32)
MORPHAX_DRAW_ALL(f64)
MORPHAX_DRAW_ALL(Stored<Float16>)
MORPHAX_DRAW_ALL(Stored<Bfloat16>)
#undef MORPHAX_DRAW_ALL
#undef MORPHAX_DRAW

}  // namespace morphax::gamma
