#include "calls_program.h"

namespace morphax::calls {

namespace {

bool same_treedef(const nb::object& known, const nb::object& given) {
  return known.is(given) || tree::same(known.ptr(), given.ptr());
}

bool same_statics(const References& known, const References& given) {
  if (known.size() != given.size()) return false;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const int same = PyObject_RichCompareBool(known[i], given[i], Py_EQ);
    check_status(same);
    if (!same) return false;
  }
  return true;
}

// The place that a leaf is committed to, or `None`; borrowed.
PyObject* bound_to(PyObject* leaf) {
  return is_array(leaf) && core.committed(leaf) == Py_True ? core.place(leaf) : Py_None;
}

// What `Traced.plan` and `Traced.plan_bound_by` return; null if Python alone can call the program.
PlanPointer plan_in(const nb::object& answer) {
  if (nb::object(answer[0]).is_none()) return nullptr;
  return std::make_shared<const Plan>(answer[0], nb::cast<bool>(answer[1]), answer[2]);
}

int visit_all(const References& references, visitproc visit, void* arg) {
  for (std::size_t i = 0; i < references.size(); ++i) Py_VISIT(references[i]);
  return 0;
}

}  // namespace

Plan::Plan(nb::handle plan, bool committed, nb::object out_tree)
    : operand_places(nb::tuple(plan.attr("operand_places"))),
      result_places(nb::tuple(plan.attr("result_places"))),
      constants(nb::tuple(plan.attr("constants"))),
      loaded(plan.attr("loaded")),
      handlers(plan.attr("handlers")),
      execute(plan.attr("execute")),
      out_avals(nb::tuple(plan.attr("out_avals"))),
      finish(plan.attr("finish")),
      fail(plan.attr("fail")),
      gone(plan.attr("gone")),
      machine(plan.attr("machine")),
      machine_function(machine_functions::machine_function(machine)),
      takes_all(plan.attr("kept").is_none()),
      committed(committed),
      out_tree(std::move(out_tree)) {
  for (nb::handle i : plan.attr("donated")) donated.push_back(nb::cast<std::size_t>(i));
  if (takes_all) return;
  for (nb::handle i : plan.attr("binding")) binding.push_back(nb::cast<std::size_t>(i));
  for (nb::handle i : plan.attr("kept")) kept.push_back(nb::cast<std::size_t>(i));
}

bool Program::matches(const Signature& signature) const {
  if (trace_key.ptr() != signature.trace_key) return false;
  if (avals.size() != signature.leaves.size()) return false;
  std::size_t other = 0;
  for (std::size_t i = 0; i < avals.size(); ++i) {
    PyObject* leaf = signature.leaves[i];
    PyObject* aval = is_array(leaf) ? core.aval(leaf) : signature.other_avals[other++];
    if (aval != avals[i]) return false;
  }
  return same_treedef(args, signature.args) && same_treedef(kwargs, signature.kwargs) &&
         same_statics(statics, signature.statics);
}

int Plan::traverse(visitproc visit, void* arg) const {
  for (const nb::object* part :
       {&operand_places, &result_places, &constants, &loaded, &handlers, &execute, &out_avals,
        &finish, &fail, &gone, &machine, &out_tree}) {
    Py_VISIT(part->ptr());
  }
  return 0;
}

bool BoundPlan::matches(const References& leaves) const {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (bound_to(leaves[i]) != places[i]) return false;
  }
  return true;
}

PlanPointer Program::plan() {
  if (!asked_) {
    plan_ = plan_in(traced.attr("plan")());
    asked_ = true;
  }
  return plan_;
}

PlanPointer Program::plan_bound_by(const References& leaves) {
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    if (!bound_[i]->matches(leaves)) continue;
    if (i > 0) std::swap(bound_[0], bound_[i]);
    return bound_[0]->plan;
  }
  auto found = std::make_shared<BoundPlan>();
  for (std::size_t i = 0; i < leaves.size(); ++i) found->places.push(bound_to(leaves[i]));
  // Python may come back here, as may other threads.
  const nb::object list = list_of(leaves.data(), leaves.size());
  found->plan = plan_in(call_method(traced, "plan_bound_by", list));
  // What is destroyed goes last, for the same reason.
  std::vector<std::shared_ptr<const BoundPlan>> gone;
  if (bound_.size() >= kMostBound) gone.swap(bound_);
  bound_.insert(bound_.begin(), found);
  return found->plan;
}

int Program::traverse(visitproc visit, void* arg) const {
  for (const nb::object* part : {&args, &kwargs, &trace_key, &traced}) Py_VISIT(part->ptr());
  for (const References* parts : {&avals, &statics}) {
    if (const int stop = visit_all(*parts, visit, arg)) return stop;
  }
  for (const auto& bound : bound_) {
    if (const int stop = visit_all(bound->places, visit, arg)) return stop;
    if (!bound->plan) continue;
    if (const int stop = bound->plan->traverse(visit, arg)) return stop;
  }
  return plan_ ? plan_->traverse(visit, arg) : 0;
}

std::shared_ptr<Program> CallTable::find(const Signature& signature) {
  std::shared_ptr<Program> last = last_;
  if (last && last->code == signature.code && last->matches(signature)) return last;
  std::vector<std::shared_ptr<Program>> candidates;
  for (auto [here, end] = programs_.equal_range(signature.code); here != end; ++here) {
    candidates.push_back(here->second);
  }
  for (const auto& candidate : candidates) {
    if (candidate->matches(signature)) return last_ = candidate;
  }
  return nullptr;
}

void CallTable::add(nb::handle avals, nb::handle args, nb::handle kwargs, nb::handle statics,
                    nb::handle trace_key, nb::handle traced) {
  auto program = std::make_shared<Program>();
  Code code;
  code.mix(trace_key.ptr());
  for (Py_ssize_t i = 0; i < length(avals.ptr()); ++i) {
    program->avals.push(item(avals.ptr(), i));
    code.mix(item(avals.ptr(), i));
  }
  code.mix_treedef(args.ptr());
  code.mix_treedef(kwargs.ptr());
  for (nb::handle part : statics) program->statics.push(part.ptr());
  if (!code.mix_statics(program->statics)) throw nb::python_error();
  program->code = code.value();
  program->args = nb::borrow(args);
  program->kwargs = nb::borrow(kwargs);
  program->trace_key = nb::borrow(trace_key);
  program->traced = nb::borrow(traced);
  for (auto [here, end] = programs_.equal_range(program->code); here != end; ++here) {
    if (here->second->traced.is(traced)) return;
  }
  if (programs_.size() >= kMost) clear();
  programs_.emplace(program->code, std::move(program));
}

void CallTable::clear() {
  // What is destroyed may run code that comes back here: the table is empty by then.
  const auto last = std::move(last_);
  const auto programs = std::move(programs_);
  last_ = nullptr;
  programs_.clear();
}

int CallTable::traverse(visitproc visit, void* arg) const {
  for (const auto& [code, program] : programs_) {
    if (const int stop = program->traverse(visit, arg)) return stop;
  }
  return 0;
}

}  // namespace morphax::calls
