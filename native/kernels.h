#pragma once

#include <nanobind/nanobind.h>

// A loop that is compiled twice, for old and for newer processors; which of them runs is found out
// when the module is loaded.  Sanitizers cannot watch how.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
// GCC 12 is the first that knows this level, on which products are added in one step.
#if __GNUC__ >= 12
#define MORPHAX_NEWER "arch=x86-64-v3"
#else
#define MORPHAX_NEWER "avx2"
#endif
#define MORPHAX_VECTORIZED __attribute__((target_clones(MORPHAX_NEWER, "default"), optimize("O3")))
// One more version, where loops over integers gain from AVX-512: it has extremes of 64 bits, and
// rotations.
#if __GNUC__ >= 12
#define MORPHAX_NEWEST "arch=x86-64-v4", MORPHAX_NEWER
#else
#define MORPHAX_NEWEST MORPHAX_NEWER
#endif
#define MORPHAX_VECTORIZED_INTEGERS \
  __attribute__((target_clones(MORPHAX_NEWEST, "default"), optimize("O3")))
// Of what is rounded to single precision in the end: a product and its sum are one operation where
// there is one.
#define MORPHAX_VECTORIZED_WIDE \
  __attribute__((target_clones(MORPHAX_NEWEST, "default"), optimize("O3", "fp-contract=fast")))
#else
#define MORPHAX_VECTORIZED
#define MORPHAX_VECTORIZED_INTEGERS
#define MORPHAX_VECTORIZED_WIDE
#endif

namespace morphax::kernels {

void bind(nanobind::module_& module);

}  // namespace morphax::kernels
