// What a call of a jitted function looks for: the program for its signature.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "machine_functions.h"
#include "tree.h"

namespace morphax::calls {

// A class whose instances are called: where they keep their programs, and `__call__` in Python.
struct Callable {
  Slot table;
  PyObject* twin;
};

// The classes and functions of the Python side; see `install`.  Never given back.
struct Core {
  PyTypeObject* array;
  Slot aval, host, buffer, place, committed, deletion;  // of `Array`
  Callable jitted, compiled;                            // `PjitFunction` and `Compiled`
  Slot statics;                                         // of `PjitFunction`
  Slot static_numbers, static_names;                    // of `Choice`
  PyObject *aval_of, *put, *no_kwargs;
  PyObject *execute, *consume, *is_deleted, *is_shared;  // names of methods and attributes
};
extern Core core;

inline bool is_array(PyObject* object) { return Py_IS_TYPE(object, core.array); }

nb::object new_array(PyObject* aval, PyObject* host, PyObject* buffer, PyObject* place,
                     bool committed);

// `Array.give_up`.
void give_up_one(PyObject* array, const nb::object& deletion);

// The signature of a call, and its operands.
struct Signature {
  nb::object args, kwargs;  // structures
  References leaves;
  References other_avals;  // of the leaves that are no arrays, in order
  References statics;      // of each static argument its place and key
  PyObject* trace_key;
  std::size_t code;
};

// How a program is run: the `CallPlan` that `Traced.plan` returns.
struct Plan {
  Plan(nb::handle plan, bool committed, nb::object out_tree);

  // One place for each operand, and for each result.
  nb::object operand_places, result_places;
  nb::object constants, loaded, handlers, execute, out_avals, finish, fail, gone;
  // What runs instead of jaxlib's executable, if it is machine code of ours; else null.
  nb::object machine;
  const machine_functions::MachineFunction* machine_function;
  std::vector<std::size_t> kept;     // the operands that the module takes
  std::vector<std::size_t> binding;  // those whose commitment counts
  std::vector<std::size_t> donated;  // those that results may be written to
  bool takes_all;
  bool committed;  // whether the results are, whatever the operands say
  nb::object out_tree;

  int traverse(visitproc visit, void* arg) const;
};

// Null if calls go through Python.
using PlanPointer = std::shared_ptr<const Plan>;

// The plan of calls whose operands are committed to these places.
struct BoundPlan {
  // Of each operand the place that it is committed to, or `None`.
  References places;
  PlanPointer plan;

  bool matches(const References& leaves) const;
};

// A traced function with the signature that it is for.
class Program {
 public:
  bool matches(const Signature& signature) const;
  // The plan of calls that are bound to no other place.
  PlanPointer plan();
  // The plan for the places that these leaves are committed to; Python may raise an error instead.
  PlanPointer plan_bound_by(const References& leaves);
  int traverse(visitproc visit, void* arg) const;

  std::size_t code;
  nb::object args, kwargs, trace_key, traced;
  References avals, statics;

 private:
  static constexpr std::size_t kMostBound = 16;

  bool asked_ = false;
  PlanPointer plan_;
  // The one that was used last comes first.
  std::vector<std::shared_ptr<const BoundPlan>> bound_;
};

// The programs of one function.  Python keeps the table that counts; this one is a shorter way to
// what was found there, and is emptied with it.
class CallTable {
 public:
  // The comparison of structures may run a user's `==`, which may do anything to the table.
  std::shared_ptr<Program> find(const Signature& signature);
  void add(nb::handle avals, nb::handle args, nb::handle kwargs, nb::handle statics,
           nb::handle trace_key, nb::handle traced);
  void clear();
  std::size_t size() const { return programs_.size(); }
  int traverse(visitproc visit, void* arg) const;

 private:
  static constexpr std::size_t kMost = 4096;

  std::shared_ptr<Program> last_;
  std::unordered_multimap<std::size_t, std::shared_ptr<Program>> programs_;
};

// The hash of a signature, taken one part after the other.
class Code {
 public:
  void mix(std::size_t part) {
    code_ = (code_ ^ part) * 0x9e3779b97f4a7c15u;
    code_ ^= code_ >> 32;
  }
  void mix(PyObject* address) { mix(reinterpret_cast<std::size_t>(address) >> 4); }
  // Structures that are not shared are compared by what they are.
  void mix_treedef(PyObject* treedef) {
    if (tree::core.shared(treedef) == Py_True) return mix(treedef);
    mix(static_cast<std::size_t>(tree::hash(treedef)));
  }
  // False if a key cannot be hashed after all.
  bool mix_statics(const References& statics) {
    for (std::size_t i = 0; i < statics.size(); ++i) {
      const Py_hash_t part = PyObject_Hash(statics[i]);
      if (part == -1) return false;
      mix(static_cast<std::size_t>(part));
    }
    return true;
  }
  std::size_t value() const { return code_; }

 private:
  std::size_t code_ = 0;
};

}  // namespace morphax::calls
