// Taking objects apart, each according to its kind.
#include <cstring>
#include <unordered_map>
#include <vector>

#include "tree.h"

namespace morphax::tree {

Form form_of(PyObject* kind) {
  for (int i = 0; i < kForms; ++i) {
    if (Py_IS_TYPE(kind, core.forms[i])) return static_cast<Form>(i);
  }
  return Form::kOther;
}

PyObject* Kinds::of(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (reinterpret_cast<PyObject*>(type) == leaf_type_.ptr()) return nullptr;
  if (type == &PyTuple_Type) return core.tuple_kind;
  if (type == &PyDict_Type) return core.dict_kind;
  if (type == &PyList_Type) return core.list_kind;
  if (object == Py_None) return core.none_kind;
  const nb::object held = nb::borrow(reinterpret_cast<PyObject*>(type));
  PyObject* kind = known(held.ptr());
  if (kind == nullptr) {
    // The table judges a type when it is first met, in Python, and keeps the kind.
    forget();
    checked(PyObject_GetItem(core.kinds, held.ptr()));
    kind = known(held.ptr());
  }
  if (kind != nullptr && kind != Py_None) return kind;
  leaf_type_ = held;
  return nullptr;
}

// The entry of a type in the table; null if it was never met.
PyObject* Kinds::known(PyObject* type) {
  PyObject* kind = PyDict_GetItemWithError(core.kinds, type);
  if (kind == nullptr && PyErr_Occurred()) throw nb::python_error();
  return kind;
}

bool Kinds::are_leaves(PyObject* children) {
  for (Py_ssize_t i = 0; i < length(children); ++i) {
    PyObject* child = item(children, i);
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(child));
    if (type == leaf_type_.ptr()) continue;
    if (PyTuple_CheckExact(child) || PyDict_CheckExact(child)) return false;
    if (known(type) != Py_None) return false;
    leaf_type_ = nb::borrow(type);
  }
  return true;
}

namespace {

// The order of a dictionary's keys that was met before.
struct Order {
  std::vector<nb::object> keys;     // in order of insertion
  std::vector<Py_ssize_t> sources;  // for each child, the position of its key in `keys`
  nb::object node;
};

// Keys whose equality distinguishes everything that can be told apart; comparing them runs no
// user's code.
bool is_exact_key(PyObject* key) {
  return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyBytes_CheckExact(key);
}

bool same_key(PyObject* left, PyObject* right) {
  if (left == right) return true;
  if (Py_TYPE(left) != Py_TYPE(right)) return false;
  const int equal = PyObject_RichCompareBool(left, right, Py_EQ);
  check_status(equal);
  return equal != 0;
}

// Remembers, for the keys of dictionaries in their order of insertion, the sorted order.
class Orders {
 public:
  // Null if the keys are not all exact, or were not met before.
  const Order* find(PyObject* dict, std::size_t& code) const;
  void add(std::size_t code, PyObject* dict, nb::object node);

 private:
  static constexpr std::size_t kMost = 4096;

  static bool has_keys(const Order& order, PyObject* dict);

  std::unordered_multimap<std::size_t, Order> orders_;
};

const Order* Orders::find(PyObject* dict, std::size_t& code) const {
  code = static_cast<std::size_t>(PyDict_GET_SIZE(dict));
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  while (PyDict_Next(dict, &position, &key, nullptr)) {
    if (!is_exact_key(key)) {
      code = 0;
      return nullptr;
    }
    code = (code ^ static_cast<std::size_t>(PyObject_Hash(key))) * 0x9e3779b97f4a7c15u;
    code ^= code >> 29;
  }
  for (auto [here, end] = orders_.equal_range(code); here != end; ++here) {
    if (has_keys(here->second, dict)) return &here->second;
  }
  return nullptr;
}

bool Orders::has_keys(const Order& order, PyObject* dict) {
  if (order.keys.size() != static_cast<std::size_t>(PyDict_GET_SIZE(dict))) return false;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  for (const nb::object& expected : order.keys) {
    PyDict_Next(dict, &position, &key, nullptr);
    if (!same_key(key, expected.ptr())) return false;
  }
  return true;
}

void Orders::add(std::size_t code, PyObject* dict, nb::object node) {
  if (orders_.size() >= kMost) orders_.clear();
  Order order;
  nb::object place_of_key = checked(PyDict_New());
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  while (PyDict_Next(dict, &position, &key, nullptr)) {
    nb::object place = checked(PyLong_FromSize_t(order.keys.size()));
    check_status(PyDict_SetItem(place_of_key.ptr(), key, place.ptr()));
    order.keys.push_back(nb::borrow(key));
  }
  PyObject* sorted = core.data(node);
  for (Py_ssize_t i = 0; i < length(sorted); ++i) {
    PyObject* place = PyDict_GetItemWithError(place_of_key.ptr(), item(sorted, i));
    if (place == nullptr) return;  // another thread changed the dictionary in between
    order.sources.push_back(PyLong_AsSsize_t(place));
  }
  order.node = std::move(node);
  orders_.emplace(code, std::move(order));
}

// Never destroyed: the interpreter may be gone by then.
Orders& orders = *new Orders();

Expansion as_expansion(nb::object pair) {
  nb::object children = nb::borrow(PyTuple_GET_ITEM(pair.ptr(), 0));
  if (!PyTuple_Check(children.ptr()) && !PyList_Check(children.ptr())) {
    children = checked(PySequence_Tuple(children.ptr()));
  }
  return {std::move(children), nb::borrow(PyTuple_GET_ITEM(pair.ptr(), 1))};
}

Expansion expand_in_python(PyObject* object, PyObject* kind) {
  return as_expansion(call_method(kind, "expand", object));
}

Expansion expand_dict(PyObject* dict, PyObject* kind) {
  if (PyDict_GET_SIZE(dict) == 0) {
    return {checked(PyTuple_New(0)), nb::borrow(core.dict_empty(kind))};
  }
  std::size_t code = 0;
  const Order* order = orders.find(dict, code);
  if (order == nullptr) {
    Expansion expansion = expand_in_python(dict, kind);
    if (code != 0 && core.canonical(expansion.node) == Py_True) {
      orders.add(code, dict, expansion.node);
    }
    return expansion;
  }
  References values;
  Py_ssize_t position = 0;
  PyObject* value = nullptr;
  while (PyDict_Next(dict, &position, nullptr, &value)) values.push(value);
  nb::object children = checked(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyObject* child = values[static_cast<std::size_t>(order->sources[i])];
    Py_INCREF(child);
    PyTuple_SET_ITEM(children.ptr(), i, child);
  }
  return {std::move(children), order->node};
}

nb::object new_node(PyObject* kind, nb::object data) {
  nb::object node = new_instance(core.node);
  core.kind.fill(node.ptr(), nb::borrow(kind));
  core.data.fill(node.ptr(), std::move(data));
  core.canonical.fill(node.ptr(), boolean(false));
  core.keys.fill(node.ptr(), nb::none());
  core.known.fill(node.ptr(), nb::borrow(core.nothing_known));
  return node;
}

nb::object attributes(PyObject* object, PyObject* names, Py_ssize_t start, Py_ssize_t end) {
  nb::object values = checked(PyTuple_New(end - start));
  for (Py_ssize_t i = start; i < end; ++i) {
    PyObject* value = PyObject_GetAttr(object, PyTuple_GET_ITEM(names, i));
    PyTuple_SET_ITEM(values.ptr(), i - start, checked(value).release().ptr());
  }
  return values;
}

Expansion expand_dataclass(PyObject* object, PyObject* kind) {
  PyObject* fields = core.dataclass_fields(kind);
  PyObject* meta = core.dataclass_meta(kind);
  const Py_ssize_t count = length(fields), split = count - length(meta);
  nb::object children = attributes(object, fields, 0, split);
  if (split == count) return {std::move(children), nb::borrow(core.dataclass_plain(kind))};
  return {std::move(children), new_node(kind, attributes(object, fields, split, count))};
}

bool is_pair(PyObject* object) {
  return PyTuple_CheckExact(object) && PyTuple_GET_SIZE(object) == 2;
}

Expansion expand_custom(PyObject* object, PyObject* kind) {
  nb::object result = call(core.custom_flatten(kind), object);
  if (!is_pair(result.ptr()) || !(PyTuple_CheckExact(PyTuple_GET_ITEM(result.ptr(), 0)) ||
                                  PyList_CheckExact(PyTuple_GET_ITEM(result.ptr(), 0)))) {
    result = checked(
        PyObject_CallMethod(kind, "_checked", "Oss", result.ptr(), "flatten function", "children"));
  }
  nb::object children = checked(PySequence_Tuple(PyTuple_GET_ITEM(result.ptr(), 0)));
  PyObject* data = PyTuple_GET_ITEM(result.ptr(), 1);
  if (data == Py_None) return {std::move(children), nb::borrow(core.custom_plain(kind))};
  return {std::move(children), new_node(kind, nb::borrow(data))};
}

}  // namespace

Expansion expand(PyObject* object, PyObject* kind, Kinds& kinds) {
  switch (form_of(kind)) {
    case Form::kSequence:
      return {nb::borrow(object), nb::borrow(core.sequence_node(kind))};
    case Form::kDict:
      return expand_dict(object, kind);
    case Form::kNone:
      return {checked(PyTuple_New(0)), nb::borrow(core.none_node(kind))};
    case Form::kNamedTuple:
      return {nb::borrow(object), nb::borrow(core.named_tuple_node(kind))};
    default:
      break;
  }
  const nb::object held = nb::borrow(kind);
  kinds.forget();
  switch (form_of(kind)) {
    case Form::kDataclass:
      return expand_dataclass(object, kind);
    case Form::kCustom:
      return expand_custom(object, kind);
    default:
      return expand_in_python(object, kind);
  }
}

nb::object keys_of(PyObject* node, Py_ssize_t arity) {
  PyObject* known = core.keys(node);
  if ((PyList_CheckExact(known) || PyTuple_CheckExact(known)) && length(known) == arity) {
    return nb::borrow(known);
  }
  nb::object keys = checked(PyObject_CallMethod(node, "keys", "n", arity));
  if (PyList_CheckExact(keys.ptr()) || PyTuple_CheckExact(keys.ptr())) return keys;
  return checked(PySequence_List(keys.ptr()));
}

}  // namespace morphax::tree
