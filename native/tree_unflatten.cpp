// Building trees.
#include <memory>
#include <vector>

#include "tree.h"

namespace morphax::tree {

namespace {

constexpr const char* kProgramName = "morphax.tree.program";

// One node of a structure, in the order of building: children before their parent.  A node whose
// children are all leaves takes those in one step.
struct Step {
  PyObject* node;  // null for a leaf; the structure that has the program keeps it alive
  Form form;
  bool flat;
  std::size_t arity;
};
using Program = std::vector<Step>;

Step step_of(PyObject* treedef) {
  if (treedef == core.leaf) return {nullptr, Form::kOther, false, 0};
  PyObject* node = core.root(treedef);
  const auto arity = static_cast<std::size_t>(length(core.children(treedef)));
  return {node, form_of_node(node), core.flat(treedef) == Py_True, arity};
}

std::unique_ptr<Program> new_program(PyObject* treedef) {
  auto program = std::make_unique<Program>();
  std::vector<PyObject*> stack{treedef};
  while (!stack.empty()) {
    PyObject* here = stack.back();
    stack.pop_back();
    program->push_back(step_of(here));
    if (program->back().node == nullptr || program->back().flat) continue;
    PyObject* children = core.children(here);
    for (Py_ssize_t i = 0; i < length(children); ++i) stack.push_back(item(children, i));
  }
  std::reverse(program->begin(), program->end());
  return program;
}

const Program& program_of(PyObject* treedef) {
  PyObject* known = core.program(treedef);
  if (known == Py_None) {
    auto program = new_program(treedef);
    nb::object capsule = checked(PyCapsule_New(program.get(), kProgramName, [](PyObject* self) {
      delete static_cast<Program*>(PyCapsule_GetPointer(self, kProgramName));
    }));
    program.release();
    core.program.fill(treedef, std::move(capsule));
    known = core.program(treedef);
  }
  return *static_cast<Program*>(PyCapsule_GetPointer(known, kProgramName));
}

nb::object build_list(PyObject* const* children, std::size_t count) {
  nb::object list = checked(PyList_New(static_cast<Py_ssize_t>(count)));
  for (std::size_t i = 0; i < count; ++i) {
    Py_INCREF(children[i]);
    PyList_SET_ITEM(list.ptr(), i, children[i]);
  }
  return list;
}

nb::object build_dict(PyObject* keys, PyObject* const* children) {
  nb::object dict = checked(PyDict_New());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    check_status(PyDict_SetItem(dict.ptr(), PyTuple_GET_ITEM(keys, i), children[i]));
  }
  return dict;
}

nb::object build_in_python(PyObject* node, PyObject* const* children, std::size_t count) {
  const nb::object sequence = tuple_of(children, count);
  return call_method(node, "build", sequence);
}

nb::object build_dataclass(PyObject* node, PyObject* const* children, std::size_t count) {
  PyObject* kind = core.kind(node);
  PyObject *fields = core.dataclass_fields(kind), *data = core.data(node);
  const auto total = count + static_cast<std::size_t>(length(data));
  if (total != static_cast<std::size_t>(length(fields))) {
    return build_in_python(node, children, count);
  }
  std::vector<PyObject*> values(children, children + count);
  for (Py_ssize_t i = 0; i < length(data); ++i) values.push_back(item(data, i));
  return checked(PyObject_Vectorcall(core.kind_type(kind), values.data(), 0, fields));
}

nb::object build(const Step& step, PyObject* const* children) {
  PyObject* kind = core.kind(step.node);
  switch (step.form) {
    case Form::kNone:
      return nb::none();
    case Form::kSequence:
      return kind == core.tuple_kind ? tuple_of(children, step.arity)
                                     : build_list(children, step.arity);
    case Form::kDict:
      return build_dict(core.data(step.node), children);
    case Form::kNamedTuple:
      return checked(PyObject_Vectorcall(core.kind_type(kind), children, step.arity, nullptr));
    case Form::kDataclass:
      return build_dataclass(step.node, children, step.arity);
    case Form::kCustom:
      return call(core.custom_unflatten(kind), core.data(step.node),
                  tuple_of(children, step.arity));
    case Form::kOther:
      break;
  }
  return build_in_python(step.node, children, step.arity);
}

}  // namespace

nb::object unflatten(PyObject* treedef, PyObject* const* leaves) {
  if (treedef == core.leaf) return nb::borrow(leaves[0]);
  const nb::object held = nb::borrow(treedef);
  References finished;
  for (const Step& step : program_of(treedef)) {
    if (step.node == nullptr) {
      finished.push(*leaves++);
    } else if (step.flat) {
      finished.push(build(step, leaves));
      leaves += step.arity;
    } else {
      const std::size_t first = finished.size() - step.arity;
      nb::object built = build(step, finished.data() + first);
      finished.shrink(first);
      finished.push(std::move(built));
    }
  }
  return finished.pop();
}

}  // namespace morphax::tree
