// The extension module morphax._native: each subject binds itself in a file of its own.
#include <nanobind/nanobind.h>

#include "host_memory.h"

NB_MODULE(_native, module) {
  module.doc() = "Compiled parts of morphax; each has a Python twin that defines its behaviour.";
  // Arrays that live until the interpreter is gone keep their pool: no leak worth a report.
  nanobind::set_leak_warnings(false);
  morphax::bind_host_memory(module);
}
