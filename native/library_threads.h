// The threads of the BLAS behind LAPACK, which it shares a call with.
#pragma once

#include <nanobind/nanobind.h>

namespace morphax::library_threads {

// While it lives, calls of the library have the thread that makes them alone, or as many beside it
// as find a processor free.  The library's threads stay awake after a call, and so look like others
// that run: those of a call that has just ended count as free.
class Limit {
 public:
  explicit Limit(bool alone);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  bool limits_ = false;
  int threads_ = 1;
};

void bind(nanobind::module_& module);

}  // namespace morphax::library_threads
