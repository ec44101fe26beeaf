// What the steps of LAPACK's plans are made of.
#pragma once

#include <cstddef>
#include <memory>

#include "lapack_steps.h"

namespace morphax::lapack {

// Memory, and how many bytes of it come before.
struct Where {
  std::size_t memory = 0, before = 0;

  explicit Where(nb::handle pair)
      : memory(nb::cast<std::size_t>(pair[0])), before(nb::cast<std::size_t>(pair[1])) {}

  template <typename T>
  T* in(const Places& at) const {
    return reinterpret_cast<T*>(at[memory] + before);
  }
};

inline std::size_t number(nb::handle given) { return nb::cast<std::size_t>(given); }

// A step of numbers of 4 or 8 bytes; how many, the description says last.
template <template <typename> class OfReals>
std::unique_ptr<Step> of_reals(const nb::tuple& described) {
  if (number(described[described.size() - 1]) == 4) {
    return std::make_unique<OfReals<float>>(described);
  }
  return std::make_unique<OfReals<double>>(described);
}

}  // namespace morphax::lapack
