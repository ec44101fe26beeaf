// The threads of the BLAS behind LAPACK, which it shares a call with.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::library_threads {

// While it lives, calls of the library have the thread that makes them alone, if `wanted`.
class Alone {
 public:
  explicit Alone(bool wanted);
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  bool wanted_;
};

void bind(nanobind::module_& module);

}  // namespace morphax::library_threads
