# Thin: every target calls cmake, ctest or a script in tools/.  CMAKE_ARGS are handed to cmake, e.g.
# make test CMAKE_ARGS=-DPZ_WERROR=ON
CMAKE_ARGS ?=
PREFIX ?= /usr/local
MAKEFLAGS += --no-print-directory
JOBS := $(shell nproc)
DATA := $(CURDIR)/build/data
CTEST = ctest --output-on-failure -j $(JOBS)

# $(call build,FOLDER,OPTIONS[,TARGETS])
build = cmake -S . -B $(1) $(2) $(CMAKE_ARGS) && \
	cmake --build $(1) -j $(JOBS) $(if $(3),--target $(3))

.PHONY: all bootstrap demo reproduce test test-all bench bench-peers bench-results bench-runtime \
	paper fuzz lint install clean

all: bootstrap
	$(call build,build)

bootstrap:
	tools/bootstrap

# What the program does, in a minute or two, on the data of the tests; ends with a page of it.
demo: bootstrap
	$(call build,build,,planezip planezip_shared pz_data)
	PLANEZIP=$(CURDIR)/build/planezip PZ_DATA_DIR=$(DATA) tools/demo

# The paper's evaluation as a page, from training the models on; with QUICK=1 of bundled data.
reproduce: all
	PLANEZIP=$(CURDIR)/build/planezip PZ_DATA_DIR=$(DATA) PZ_VENV_DIR=$(CURDIR)/build/python \
		reproduce/run $(if $(QUICK),--quick)

# Everything but the long tests, twice: as released, and under ASan and UBSan.
test: all
	$(call build,build-asan,-DPZ_SANITIZE=ON)
	$(CTEST) --test-dir build -LE long
	$(CTEST) --test-dir build-asan -LE long

# Adds PyTorch, Chromium, clang, memcheck, AVX-512 and other machines by emulation, fuzzing, a
# driver of OpenCL, the long tests, and a deeper look by the analyser.
test-all: test
	PZ_VENV_DIR=build/python tools/python_env torch
	$(CTEST) --test-dir build -R python_torch
	tools/bootstrap --browser
	$(CTEST) --test-dir build -R page_
	tools/bootstrap --clang --simde --valgrind
	$(call build,build-clang,-DCMAKE_C_COMPILER=clang)
	$(CTEST) --test-dir build-clang -LE long
	tools/valgrind
	tools/emulate aarch64 i686 s390x
	tools/fuzz
	PZ_VENV_DIR=build/python tools/python_env opencl
	$(CTEST) --test-dir build -L long
	tools/bootstrap --lint
	tools/lint --deep

bench: all
	tools/bench

# Beside codecs of others, which are installed into build/; then the page and the figure of both.
bench-peers: all
	tools/bootstrap --bench
	tools/bench peers

bench-results: all
	tools/bootstrap --bench
	tools/bench results

# Training within a budget beside other ways to save memory; installs PyTorch.
bench-runtime: all
	PZ_VENV_DIR=$(CURDIR)/build/python tools/bench runtime

paper: all
	PLANEZIP=$(CURDIR)/build/planezip PZ_DATA_DIR=$(DATA) python3 bench/paper.py

# Every harness for so many seconds.
SECONDS ?= 60
fuzz:
	tools/bootstrap --clang
	tools/fuzz $(SECONDS)

lint:
	tools/bootstrap --lint
	tools/lint

install: all
	cmake --install build --prefix $(PREFIX)

clean:
	cmake -E rm -rf build build-asan build-clang build-fuzz build-afl build-lint \
		build-aarch64 build-i686 build-s390x
