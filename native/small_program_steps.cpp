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

// `T` holds an element: a `Word` or a `Wide`.
template <typename T>
void run_inner(const Step& step, Word* const* places) {
  char* at[4];
  const npy_intp steps[] = {sizeof(T), sizeof(T), sizeof(T), sizeof(T)};
  std::size_t i = 0;
  for (std::size_t operand : step.operands) at[i++] = reinterpret_cast<char*>(places[operand]);
  at[i] = reinterpret_cast<char*>(places[step.out]);
  const auto count = static_cast<npy_intp>(step.count);
  step.numpys.inner(at, &count, steps, step.numpys.data);
}

template <typename T>
T* elements_of(Word* const* places, std::size_t i) {
  return reinterpret_cast<T*>(places[i]);
}

template <typename T>
void run_take(const Step& step, Word* const* places) {
  T* out = elements_of<T>(places, step.out);
  if (step.operands.size() == 1) {
    const T* from = elements_of<T>(places, step.operands[0]);
    for (const Element& element : step.elements) *out++ = from[element.index];
    return;
  }
  for (const Element& element : step.elements) {
    *out++ = elements_of<T>(places, step.operands[element.operand])[element.index];
  }
}

template <typename T>
void run_fill(const Step& step, Word* const* places) {
  const T number = *elements_of<T>(places, step.operands[0]);
  std::fill_n(elements_of<T>(places, step.out), step.count, number);
}

// Where each window starts in memory; -1 if it does not lie inside.
template <typename Start>
void find_windows(const Windows& windows, const Start* starts, std::int32_t* found) {
  for (std::size_t i = 0; i < windows.count; ++i) {
    bool is_inside = true;
    std::int32_t at = 0;
    for (std::size_t axis = 0; axis < windows.limits.size(); ++axis) {
      const Start start = *starts++;
      const Start near = std::clamp(start, Start{0}, Start{windows.limits[axis]});
      is_inside &= near == start;
      at += static_cast<std::int32_t>(near) * windows.strides[axis];
    }
    found[i] = is_inside || windows.moves ? at : -1;
  }
}

template <typename T>
void run_windows(const Step& step, Word* const* places) {
  const Windows& windows = *step.windows;
  std::int32_t starts[kMostElements];
  if (windows.of_wide) {
    find_windows(windows, elements_of<std::int64_t>(places, step.operands[1]), starts);
  } else {
    find_windows(windows, elements_of<std::int32_t>(places, step.operands[1]), starts);
  }
  const T* in = elements_of<T>(places, step.operands[0]);
  T* out = elements_of<T>(places, step.out);
  if (step.operands.size() == 2) {
    for (const Windows::Place& place : windows.places) {
      const std::int32_t start = starts[place.window];
      *out++ = start < 0 ? static_cast<T>(windows.fill) : in[start + place.at];
    }
    return;
  }
  std::copy_n(in, step.count, out);
  const T* updates = elements_of<T>(places, step.operands[2]);
  for (const Windows::Place& place : windows.places) {
    if (starts[place.window] < 0) continue;
    T* element = out + starts[place.window] + place.at;
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
  T* out = elements_of<T>(places, step.out);
  const T* in = elements_of<T>(places, step.operands[0]);
  for (std::size_t i = 0; i < step.outer; ++i, out += inner, in += step.along * inner) {
    body(out, in, inner);
  }
}

// By an inner loop of NumPy of two operands, as its `reduce` calls it: it begins with the identity.
template <typename T>
void run_reduction(const Step& step, Word* const* places) {
  const npy_intp width = sizeof(T);
  for_each_outer<T>(step, places, [&](T* out, const T* in, std::size_t inner) {
    std::fill_n(out, inner, static_cast<T>(step.identity));
    auto* to = reinterpret_cast<char*>(out);
    char* at[] = {to, reinterpret_cast<char*>(const_cast<T*>(in)), to};
    if (inner == 1) {
      const auto count = static_cast<npy_intp>(step.along);
      const npy_intp steps[] = {0, width, 0};
      return step.numpys.inner(at, &count, steps, step.numpys.data);
    }
    const auto count = static_cast<npy_intp>(inner);
    const npy_intp steps[] = {width, width, width};
    for (std::size_t i = 0; i < step.along; ++i, at[1] += inner * sizeof(T)) {
      step.numpys.inner(at, &count, steps, step.numpys.data);
    }
  });
}

// With an operation of chains that is exact, so that any order will do: by halves where elements
// lie in a row.
template <typename T>
void run_folding(const Step& step, Word* const* places) {
  T row[kMostElements];
  for_each_outer<T>(step, places, [&](T* out, const T* in, std::size_t inner) {
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
template <typename T>
void run_accumulation(const Step& step, Word* const* places) {
  const std::size_t inner = step.count / (step.outer * step.along);
  T* out = elements_of<T>(places, step.out);
  const T* in = elements_of<T>(places, step.operands[0]);
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
  const float* in = elements_of<float>(places, step.operands[0]);
  float* out = elements_of<float>(places, step.out);
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
  const auto width_of = [&](std::size_t i) { return registers[step.operands[i]].width; };
  if (width_of(0) != step.width || (replaces && width_of(2) != step.width))
    refuse(PyExc_ValueError, "windows of other numbers");
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
  const auto at = nb::cast<std::vector<std::int32_t>>(given[5]);
  const auto window = nb::cast<std::vector<std::uint32_t>>(given[6]);
  const auto update = nb::cast<std::vector<std::uint32_t>>(given[7]);
  if (window.size() != at.size() || update.size() != at.size())
    refuse(PyExc_ValueError, "tables of different lengths");
  for (std::size_t i = 0; i < at.size(); ++i) {
    windows->places.push_back({at[i], window[i], update[i]});
    windows->count = std::max<std::size_t>(windows->count, window[i] + std::size_t{1});
  }
  windows->limits = nb::cast<std::vector<std::int32_t>>(given[8]);
  windows->strides = nb::cast<std::vector<std::int32_t>>(given[9]);
  windows->moves = nb::cast<bool>(given[10]);
  windows->fill = nb::cast<Wide>(given[11]);
  windows->of_wide = registers[step.operands[1]].width > 1;
  step.windows = std::move(windows);
  if (!nb::cast<std::string_view>(given[4]).empty()) find_loop(given[4], step);
  step.run = step.width == 1 ? run_windows<Word> : run_windows<Wide>;
  check_windows(step, registers);
}

// What is combined along axes that follow one another.
void read_reduction(std::string_view kind, nb::handle given, const std::vector<Register>& registers,
                    Step& step) {
  const bool is_wide = step.width > 1, is_carried = kind == "accumulate_wide";
  const bool keeps = is_carried || kind == "accumulate";
  step.outer = nb::cast<std::size_t>(given[5]), step.along = nb::cast<std::size_t>(given[6]);
  const std::size_t size = registers[step.operands[0]].count;
  if (step.along == 0 || step.along > kMostElements || step.outer == 0 ||
      (keeps ? step.count : step.count * step.along) != size ||
      size % (step.outer * step.along) != 0 || (is_carried && is_wide))
    refuse(PyExc_ValueError, "a reduction of another size");
  if (kind == "reduce") {
    step.numpys = ufunc_loop_of(given[4], 2, is_wide ? NPY_DOUBLE : NPY_FLOAT);
    step.identity = nb::cast<Wide>(given[7]);
    step.run = is_wide ? run_reduction<Wide> : run_reduction<Word>;
    return;
  }
  find_loop(given[4], step);
  if (is_carried) {
    step.run = run_wide_accumulation;
    step.multiplies = nb::cast<std::string_view>(given[4]) == "mul_float32";
  } else if (keeps) {
    step.run = is_wide ? run_accumulation<Wide> : run_accumulation<Word>;
  } else {
    step.run = is_wide ? run_folding<Wide> : run_folding<Word>;
  }
}

}  // namespace

[[noreturn]] void refuse(PyObject* error, const char* reason) {
  PyErr_SetString(error, reason);
  throw nb::python_error();
}

std::size_t words_of(nb::handle itemsize) {
  const auto bytes = nb::cast<std::size_t>(itemsize);
  if (bytes != sizeof(Word) && bytes != sizeof(Wide))
    refuse(PyExc_ValueError, "numbers of another size");
  return bytes / sizeof(Word);
}

Step step_of(nb::handle given, const std::vector<Register>& registers, std::size_t out) {
  Step step;
  const auto kind = nb::cast<std::string_view>(given[0]);
  step.out = out, step.count = nb::cast<std::size_t>(given[2]), step.width = words_of(given[3]);
  for (nb::handle operand : given[1]) {
    step.operands.push_back(nb::cast<std::size_t>(operand));
    if (step.operands.back() >= out)
      refuse(PyExc_ValueError, "a register that is read before written");
  }
  if (step.operands.empty()) refuse(PyExc_ValueError, "a step without operands");
  const auto all = [&](auto test) {
    return std::all_of(step.operands.begin(), step.operands.end(),
                       [&](std::size_t i) { return test(registers[i]); });
  };
  const bool is_wide = step.width > 1;
  const bool alike = all([&](const Register& one) { return one.width == step.width; });
  if (kind == "loop" || kind == "inner") {
    if (!all([&](const Register& one) { return one.count == step.count; }))
      refuse(PyExc_ValueError, "operands of other sizes");
    if (kind == "loop") {
      find_loop(given[4], step);
      step.run = run_loop;
      return step;
    }
    step.numpys = ufunc_loop_of(given[4], step.operands.size(), is_wide ? NPY_DOUBLE : NPY_FLOAT);
    step.run = is_wide ? run_inner<Wide> : run_inner<Word>;
  } else if (kind == "windows") {
    if (step.operands.size() < 2) refuse(PyExc_ValueError, "windows of nothing");
    read_windows(given, registers, step);
    return step;
  } else if (kind == "fill") {
    step.run = is_wide ? run_fill<Wide> : run_fill<Word>;
  } else if (kind == "take") {
    read_elements(given[4], given[5], step);
    for (const Element& element : step.elements) {
      if (element.operand >= step.operands.size() ||
          element.index >= registers[step.operands[element.operand]].count)
        refuse(PyExc_IndexError, "an element that does not exist");
    }
    step.run = is_wide ? run_take<Wide> : run_take<Word>;
  } else {
    read_reduction(kind, given, registers, step);
  }
  if (!alike) refuse(PyExc_ValueError, "operands of other numbers");
  return step;
}

}  // namespace morphax::small_programs
