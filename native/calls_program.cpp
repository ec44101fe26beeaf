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
    PyObject* aval =
        Py_IS_TYPE(leaf, core.array) ? core.aval(leaf) : signature.other_avals[other++];
    if (aval != avals[i]) return false;
  }
  return same_treedef(args, signature.args) && same_treedef(kwargs, signature.kwargs) &&
         same_statics(statics, signature.statics);
}

const Plan* Program::plan() {
  if (!asked_) {
    const nb::object answer = traced.attr("plan")();
    if (!nb::object(answer[0]).is_none())
      plan_.emplace(answer[0], nb::cast<bool>(answer[1]), answer[2]);
    asked_ = true;
  }
  return plan_ ? &*plan_ : nullptr;
}

int Program::traverse(visitproc visit, void* arg) const {
  for (const nb::object* part : {&args, &kwargs, &trace_key, &traced}) Py_VISIT(part->ptr());
  for (const References* parts : {&avals, &statics}) {
    if (const int stop = visit_all(*parts, visit, arg)) return stop;
  }
  if (!plan_) return 0;
  for (const nb::object* part :
       {&plan_->operand_places, &plan_->result_places, &plan_->constants, &plan_->loaded,
        &plan_->handlers, &plan_->execute, &plan_->out_avals, &plan_->finish, &plan_->fail,
        &plan_->gone, &plan_->out_tree}) {
    Py_VISIT(part->ptr());
  }
  return 0;
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
