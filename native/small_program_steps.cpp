#define NO_IMPORT_UFUNC
#include "small_program_steps.h"

#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace morphax::small_programs {

namespace {

// More are not reduced along an axis.
constexpr std::size_t kMostElements = 1024;

void run_loop(const Step& step, Word* const* places) {
  const void* at[3] = {nullptr, nullptr, nullptr};
  for (std::size_t i = 0; i < step.operands.size(); ++i) at[i] = places[step.operands[i]];
  step.loop(step.count, at[0], at[1], at[2], places[step.out]);
}

void run_inner(const Step& step, Word* const* places) {
  char* at[4];
  const npy_intp steps[] = {sizeof(Word), sizeof(Word), sizeof(Word), sizeof(Word)};
  std::size_t i = 0;
  for (std::size_t operand : step.operands) at[i++] = reinterpret_cast<char*>(places[operand]);
  at[i] = reinterpret_cast<char*>(places[step.out]);
  const auto count = static_cast<npy_intp>(step.count);
  step.numpys.inner(at, &count, steps, step.numpys.data);
}

void run_take(const Step& step, Word* const* places) {
  Word* out = places[step.out];
  if (step.operands.size() == 1) {
    const Word* from = places[step.operands[0]];
    for (const Element& element : step.elements) *out++ = from[element.index];
    return;
  }
  for (const Element& element : step.elements) {
    *out++ = places[step.operands[element.operand]][element.index];
  }
}

void run_fill(const Step& step, Word* const* places) {
  std::fill_n(places[step.out], step.count, *places[step.operands[0]]);
}

// Where each window starts in memory; -1 if it does not lie inside.
void find_windows(const Windows& windows, const std::int32_t* starts, std::int32_t* found) {
  for (std::size_t i = 0; i < windows.count; ++i) {
    bool is_inside = true;
    std::int32_t at = 0;
    for (std::size_t axis = 0; axis < windows.limits.size(); ++axis) {
      const std::int32_t start = *starts++;
      const std::int32_t near = std::clamp(start, std::int32_t{0}, windows.limits[axis]);
      is_inside &= near == start;
      at += near * windows.strides[axis];
    }
    found[i] = is_inside || windows.moves ? at : -1;
  }
}

void run_windows(const Step& step, Word* const* places) {
  const Windows& windows = *step.windows;
  std::int32_t starts[kMostElements];
  find_windows(windows, reinterpret_cast<const std::int32_t*>(places[step.operands[1]]), starts);
  const Word* in = places[step.operands[0]];
  Word* out = places[step.out];
  if (step.operands.size() == 2) {
    for (const Windows::Place& place : windows.places) {
      const std::int32_t start = starts[place.window];
      *out++ = start < 0 ? windows.fill : in[start + place.at];
    }
    return;
  }
  std::copy_n(in, step.count, out);
  const Word* updates = places[step.operands[2]];
  for (const Windows::Place& place : windows.places) {
    if (starts[place.window] < 0) continue;
    Word* element = out + starts[place.window] + place.at;
    if (step.loop == nullptr) {
      *element = updates[place.update];
    } else {
      step.loop(1, element, updates + place.update, nullptr, element);
    }
  }
}

// Calls `body(out, in, inner)` for the elements in front; those behind lie in a row.
template <typename T, typename Body>
void for_each_outer(const Step& step, Word* const* places, Body body) {
  const std::size_t inner = step.count / step.outer;
  auto* out = reinterpret_cast<T*>(places[step.out]);
  const auto* in = reinterpret_cast<const T*>(places[step.operands[0]]);
  for (std::size_t i = 0; i < step.outer; ++i, out += inner, in += step.along * inner) {
    body(out, in, inner);
  }
}

// By an inner loop of NumPy of two operands, as its `reduce` calls it: it begins with the identity.
void run_reduction(const Step& step, Word* const* places) {
  const npy_intp word = sizeof(Word);
  for_each_outer<Word>(step, places, [&](Word* out, const Word* in, std::size_t inner) {
    std::fill_n(out, inner, step.identity);
    auto* to = reinterpret_cast<char*>(out);
    char* at[] = {to, reinterpret_cast<char*>(const_cast<Word*>(in)), to};
    if (inner == 1) {
      const auto count = static_cast<npy_intp>(step.along);
      const npy_intp steps[] = {0, word, 0};
      return step.numpys.inner(at, &count, steps, step.numpys.data);
    }
    const auto count = static_cast<npy_intp>(inner);
    const npy_intp steps[] = {word, word, word};
    for (std::size_t i = 0; i < step.along; ++i, at[1] += inner * sizeof(Word)) {
      step.numpys.inner(at, &count, steps, step.numpys.data);
    }
  });
}

// With an operation of chains that is exact, so that any order will do: by halves where elements
// lie in a row.
void run_folding(const Step& step, Word* const* places) {
  Word row[kMostElements];
  for_each_outer<Word>(step, places, [&](Word* out, const Word* in, std::size_t inner) {
    if (inner == 1) {
      std::copy_n(in, step.along, row);
      for (std::size_t left = step.along; left > 1; left -= left / 2) {
        const std::size_t half = left / 2;
        step.loop(half, row, row + (left - half), nullptr, row);
      }
      *out = row[0];
      return;
    }
    std::copy_n(in, inner, out);
    for (std::size_t i = 1; i < step.along; ++i) {
      step.loop(inner, out, in + i * inner, nullptr, out);
    }
  });
}

// All partial results of such an operation.
void run_accumulation(const Step& step, Word* const* places) {
  const std::size_t inner = step.count / (step.outer * step.along);
  Word* out = places[step.out];
  const Word* in = places[step.operands[0]];
  for (std::size_t i = 0; i < step.outer; ++i) {
    for (std::size_t j = 0; j < step.along; ++j, out += inner, in += inner) {
      if (j == 0) {
        std::copy_n(in, inner, out);
      } else {
        step.loop(inner, out - inner, in, nullptr, out);
      }
    }
  }
}

// The same of float32, carried in float64.
void run_wide_accumulation(const Step& step, Word* const* places) {
  const std::size_t inner = step.count / (step.outer * step.along);
  const auto* in = reinterpret_cast<const float*>(places[step.operands[0]]);
  auto* out = reinterpret_cast<float*>(places[step.out]);
  for (std::size_t i = 0; i < step.outer;
       ++i, in += step.along * inner, out += step.along * inner) {
    for (std::size_t column = 0; column < inner; ++column) {
      double carry = in[column];
      out[column] = in[column];
      for (std::size_t j = 1; j < step.along; ++j) {
        const double next = in[j * inner + column];
        carry = step.multiplies ? carry * next : carry + next;
        out[j * inner + column] = static_cast<float>(carry);
      }
    }
  }
}

void find_loop(nb::handle name, Step& step) {
  const fused::Operation* operation = fused::find(nb::cast<std::string_view>(name));
  if (operation == nullptr || operation->loop == nullptr)
    refuse(PyExc_ValueError, "an operation that cannot be in a small program");
  step.loop = operation->loop;
}

void read_elements(nb::handle operands, nb::handle indices, Step& step) {
  for (std::size_t i = 0; i < step.count; ++i) {
    step.elements.push_back(
        {nb::cast<std::uint32_t>(operands[i]), nb::cast<std::uint32_t>(indices[i])});
  }
}

// Raises unless all that may be read or written exists.
void check_windows(const Step& step, const std::vector<Register>& registers) {
  const Windows& windows = *step.windows;
  const auto size_of = [&](std::size_t i) { return registers[step.operands[i]].count; };
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < windows.limits.size(); ++axis) {
    if (windows.limits[axis] < 0 || windows.strides[axis] < 0)
      refuse(PyExc_IndexError, "windows that do not fit");
    last += static_cast<std::int64_t>(windows.limits[axis]) * windows.strides[axis];
  }
  const bool replaces = step.operands.size() == 3;
  const std::size_t elements = windows.places.size();
  if (windows.count > kMostElements || windows.limits.size() != windows.strides.size() ||
      size_of(1) != windows.count * windows.limits.size() ||
      (replaces ? step.count != size_of(0) || elements != size_of(2) : elements != step.count))
    refuse(PyExc_ValueError, "windows of another size");
  for (const auto& [at, window, update] : windows.places) {
    if (at < 0 || at + last >= static_cast<std::int64_t>(size_of(0)) || update >= elements)
      refuse(PyExc_IndexError, "an element that does not exist");
  }
}

void read_windows(nb::handle given, const std::vector<Register>& registers, Step& step) {
  auto windows = std::make_shared<Windows>();
  const auto at = nb::cast<std::vector<std::int32_t>>(given[4]);
  const auto window = nb::cast<std::vector<std::uint32_t>>(given[5]);
  const auto update = nb::cast<std::vector<std::uint32_t>>(given[6]);
  if (window.size() != at.size() || update.size() != at.size())
    refuse(PyExc_ValueError, "tables of different lengths");
  for (std::size_t i = 0; i < at.size(); ++i) {
    windows->places.push_back({at[i], window[i], update[i]});
    windows->count = std::max<std::size_t>(windows->count, window[i] + std::size_t{1});
  }
  windows->limits = nb::cast<std::vector<std::int32_t>>(given[7]);
  windows->strides = nb::cast<std::vector<std::int32_t>>(given[8]);
  windows->moves = nb::cast<bool>(given[9]);
  windows->fill = nb::cast<Word>(given[10]);
  step.windows = std::move(windows);
  if (!nb::cast<std::string_view>(given[3]).empty()) find_loop(given[3], step);
  step.run = run_windows;
  check_windows(step, registers);
}

}  // namespace

[[noreturn]] void refuse(PyObject* error, const char* reason) {
  PyErr_SetString(error, reason);
  throw nb::python_error();
}

Step step_of(nb::handle given, const std::vector<Register>& registers, std::size_t out,
             std::size_t count) {
  Step step;
  const auto kind = nb::cast<std::string_view>(given[0]);
  step.out = out, step.count = count;
  for (nb::handle operand : given[1]) {
    step.operands.push_back(nb::cast<std::size_t>(operand));
    if (step.operands.back() >= out)
      refuse(PyExc_ValueError, "a register that is read before written");
  }
  if (step.operands.empty()) refuse(PyExc_ValueError, "a step without operands");
  const bool whole = std::all_of(step.operands.begin(), step.operands.end(),
                                 [&](std::size_t i) { return registers[i].count == count; });
  if (kind == "loop" || kind == "inner") {
    if (!whole) refuse(PyExc_ValueError, "operands of other sizes");
    if (kind == "loop") {
      find_loop(given[3], step);
      step.run = run_loop;
    } else {
      step.numpys = ufunc_loop_of_floats(given[3], step.operands.size());
      step.run = run_inner;
    }
  } else if (kind == "fill") {
    step.run = run_fill;
  } else if (kind == "windows") {
    if (step.operands.size() < 2) refuse(PyExc_ValueError, "windows of nothing");
    read_windows(given, registers, step);
  } else if (kind == "take") {
    read_elements(given[3], given[4], step);
    for (const Element& element : step.elements) {
      if (element.operand >= step.operands.size() ||
          element.index >= registers[step.operands[element.operand]].count)
        refuse(PyExc_IndexError, "an element that does not exist");
    }
    step.run = run_take;
  } else {
    step.outer = nb::cast<std::size_t>(given[4]), step.along = nb::cast<std::size_t>(given[5]);
    const std::size_t size = registers[step.operands[0]].count;
    const bool is_wide = kind == "accumulate_wide", keeps = is_wide || kind == "accumulate";
    if (step.along == 0 || step.along > kMostElements || step.outer == 0 ||
        (keeps ? count : count * step.along) != size || size % (step.outer * step.along) != 0)
      refuse(PyExc_ValueError, "a reduction of another size");
    if (kind == "reduce") {
      step.numpys = ufunc_loop_of_floats(given[3], 2);
      step.identity = nb::cast<Word>(given[6]);
      step.run = run_reduction;
    } else {
      find_loop(given[3], step);
      step.run = is_wide ? run_wide_accumulation : keeps ? run_accumulation : run_folding;
      step.multiplies = nb::cast<std::string_view>(given[3]) == "mul_float32";
    }
  }
  return step;
}

}  // namespace morphax::small_programs
