// Contexts that no signal's handler can keep from ending; the twin is morphax/util/contexts.py.
#include "contexts.h"

namespace nb = nanobind;

namespace morphax::contexts {

namespace {

// Python runs handlers where one of its own functions begins: here none does before the attribute
// has its value again.
class ReplacedAttribute {
 public:
  ReplacedAttribute(nb::object owner, nb::str name, nb::object value, nb::object ended)
      : owner_(std::move(owner)),
        name_(std::move(name)),
        value_(std::move(value)),
        ended_(std::move(ended)) {}

  nb::object enter() {
    previous_ = owner_.attr(name_);
    owner_.attr(name_) = value_;
    return value_;
  }

  void leave(bool failed) {
    owner_.attr(name_) = previous_;
    previous_.reset();
    if (!ended_.is_none()) ended_(value_, failed);
  }

 private:
  nb::object owner_, name_, value_, ended_, previous_;
};

}  // namespace

void bind(nb::module_& module) {
  nb::class_<ReplacedAttribute>(module, "replaced_attribute")
      .def(nb::init<nb::object, nb::str, nb::object, nb::object>(), nb::arg("owner"),
           nb::arg("name"), nb::arg("value").none(), nb::arg("ended").none() = nb::none())
      .def("__enter__", &ReplacedAttribute::enter)
      .def(
          "__exit__",
          [](ReplacedAttribute& self, nb::handle kind, nb::handle, nb::handle) {
            self.leave(!kind.is_none());
          },
          nb::arg().none(), nb::arg().none(), nb::arg().none());
}

}  // namespace morphax::contexts
