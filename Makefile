# `make demo` and `make test` set everything up by themselves.  They need Python 3.11 to 3.13 with
# its C headers, a C++17 compiler, and a package index; CMake and Ninja are fetched when missing.
#
#   make demo      run the demonstration
#   make test      what CI runs: lint, structure, types, the tests, and a sample on Python 3.13
#   make test-gpu  the tests that need a GPU, in an environment with the plugin PLUGIN
#   make test-whole  the tests with all records of the tables that `make test` takes a sample of
#   make fuzz      run random programs in many ways that must agree, for SECONDS=600
#   make bench     compare with JAX, in an environment of its own
#   make ecosystem run programs of libraries that are written for JAX, in environments of their own,
#                  and write docs/ecosystem.md
#   make docs      build the site in site/
#   make format    rewrite the sources in the house format
#   make native    compile morphax._native into src/, for work with PYTHONPATH=src
#   make asan      the tests of morphax._native under sanitizers, in an environment of its own
#   make clean     remove builds and caches (distclean: the environments as well)

PYTHON ?= $(shell sh tools/find_python.sh 3.11)
NEWER ?= 3.13
JOBS ?= 2
SAMPLE ?= 50
SECONDS ?= 600
SEED ?= $(shell date +%s)

VENV := .venv
BIN := $(VENV)/bin
INSTALL_INPUTS := pyproject.toml CMakeLists.txt $(wildcard native/*) build/modules.list

.PHONY: demo test check lint house types tests test-whole newer tests-newer fuzz bench ecosystem docs \
  format native asan clean distclean
.NOTPARALLEL:
.DELETE_ON_ERROR:

demo: $(VENV)/demo.stamp
	$(BIN)/python examples/digits.py

# The environment of the newer Python is made in what time the first one and the linters leave: both
# wait for the package index, and linters take one processor.  What goes wrong there `tests-newer`
# meets again, and says.
test:
	@mkdir -p build
	@nice -n 19 $(MAKE) --no-print-directory newer DO=environment >build/newer.log 2>&1 & \
	  $(MAKE) --no-print-directory check; status=$$?; wait; exit $$status
	@$(MAKE) --no-print-directory tests tests-newer

check: lint house types

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror native/*

house: $(VENV)/test.stamp
	$(BIN)/python tools/check_house.py

types: $(VENV)/test.stamp
	$(BIN)/mypy

tests: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -n $(JOBS)

# All records of the tables of which `make test` takes a sample (tests/sampling.py).
test-whole: $(VENV)/test.stamp
	MORPHAX_TEST_WHOLE=1 $(BIN)/python -m pytest -q -n $(JOBS)

# With the plugin in it, an environment computes on a GPU by default; so this one is of its own.
PLUGIN ?= jax-cuda12-plugin[with-cuda]
.PHONY: test-gpu tests-gpu
test-gpu:
	@$(MAKE) --no-print-directory tests-gpu VENV=.venv-gpu

tests-gpu: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet \
	  "$(PLUGIN)==$$($(BIN)/python -c 'import jaxlib; print(jaxlib.__version__)')"
	MORPHAX_TEST_WHOLE=1 XLA_PYTHON_CLIENT_PREALLOCATE=false \
	  $(BIN)/python -m pytest -q -n $(JOBS) tests/gpu

# Later versions have another jaxlib (see pyproject.toml), other bytecode, another standard library:
# every SAMPLE-th test runs on each of NEWER that is found.  3.12 has the jaxlib of 3.13; it runs with
# `make tests-newer NEWER=3.12`.
tests-newer:
	@$(MAKE) --no-print-directory newer

DO ?= tests-sample
newer:
	@for version in $(NEWER); do \
	  if "$(PYTHON)" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$version')"; then \
	    echo "The tests ran on Python $$version: no second run."; \
	  elif python=$$(sh tools/find_python.sh $$version $$version 2>/dev/null); then \
	    $(MAKE) --no-print-directory $(DO) VENV=.venv-$$version PYTHON="$$python" || exit 1; \
	  else \
	    echo "No Python $$version was found: no run there."; \
	  fi; \
	done

.PHONY: environment tests-sample
environment: $(VENV)/test.stamp

tests-sample: $(VENV)/test.stamp
	$(BIN)/python -m pytest -q -n $(JOBS) -p tools.sample_tests --sample $(SAMPLE)

# The seed is told with each finding: `python -m tools.fuzz --seed SEED --show INDEX` shows it again.
fuzz: $(VENV)/test.stamp
	$(BIN)/python -m tools.fuzz --seconds $(SECONDS) --seed $(SEED)

bench: .venv-bench/bench.stamp
	.venv-bench/bin/python -m benchmarks

# The distribution in `dropin` is what the libraries find when they ask for jax.  Beside it is an
# environment with the real JAX, which finds the same libraries.
ecosystem: .venv-ecosystem/jax/ecosystem.stamp
	.venv-ecosystem/bin/python tools/ecosystem.py .venv-ecosystem/bin/python \
	  --against .venv-ecosystem/jax/bin/python --write

.venv-ecosystem/jax/ecosystem.stamp: .venv-ecosystem/ecosystem.stamp
	@test -x $(@D)/bin/pip || "$(PYTHON)" -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps jax==0.10.1
	@.venv-ecosystem/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > "$$($(@D)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/libraries.pth"
	@touch $@

.venv-ecosystem/ecosystem.stamp: examples/ecosystem/requirements.txt dropin/pyproject.toml $(INSTALL_INPUTS)
	@test -x $(@D)/bin/pip || "$(PYTHON)" -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable . \
	  --editable ./dropin -r examples/ecosystem/requirements.txt
	@touch $@

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i native/*

# An editable installation: edits of Python files count at once, edits of C++ when this has run.
%.stamp: $(INSTALL_INPUTS)
	@test -x $(@D)/bin/pip || { python="$(PYTHON)"; test -n "$$python" && \
	  echo "Setting up $(@D) with $$python" && "$$python" -m venv $(@D); }
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(*F)]'
	@touch $@

# The installation knows where each module lies, so it is out of date when files come or go.
build/modules.list: always
	@mkdir -p $(@D)
	@new=$@.$$$$; find src -name '*.py' | LC_ALL=C sort > $$new; \
	  if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi

.PHONY: always
always:

native: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check cmake ninja nanobind
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/native -G Ninja \
	  -DPython_EXECUTABLE="$(abspath $(BIN)/python)"
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/native
	PATH="$(abspath $(BIN)):$$PATH" cmake --install build/native --prefix src

# Python itself is not sanitized, so the run-time libraries are loaded before it; what it keeps until
# the end is no leak.
SANITIZERS := -fsanitize=address,undefined -fno-omit-frame-pointer

asan:
	CXXFLAGS="$(SANITIZERS)" $(MAKE) --no-print-directory .venv-asan/test.stamp
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc .venv-asan/bin/python -m pytest -q \
	  tests/native/test_trees.py tests/native/test_calls.py tests/native/test_kernels.py tests/tree

clean:
	rm -rf build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f src/morphax/_native.*.so
	find src tests tools benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf .venv $(NEWER:%=.venv-%) .venv-bench .venv-asan .venv-ecosystem .venv-gpu
