// What becomes of one matrix of a stack, step by step; `morphax/lax/linalg/lapack.py` writes the
// steps and says what each does.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

namespace morphax::lapack {

namespace nb = nanobind;

// Where each memory of a plan is, for one matrix.
using Places = std::vector<char*>;

class Step {
 public:
  Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;
  virtual void run(const Places& at) const = 0;
};

// The step that a tuple describes: its name, and its arguments.
std::unique_ptr<Step> step_of(const nb::tuple& described);

}  // namespace morphax::lapack
