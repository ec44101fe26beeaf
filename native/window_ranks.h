// Of each window of an image, the sample of a rank.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::window_ranks {

void bind(nanobind::module_& module);

}  // namespace morphax::window_ranks
