# SPDX-License-Identifier: Apache-2.0
# The verbs. `make demo` and `make test` do all set-up on a fresh Debian 12 machine; the rest is in scripts/.
.PHONY: help setup peers demo build build-ros1 build-lab test test-ros1 test-lab nightly shake coverage mutants slowest check asan tsan fuzz bench torture docs api tidy accept results wheels packages packages-test release
help:    ; @sed -n '/^| `make/ { s/`//g; s/\[\([^]]*\)\]([^)]*)/\1/g; p }' HACKING.md | awk -F'|' '{ printf "%-33s%s\n", $$2, $$3 }'
setup:   ; scripts/setup.sh all
build:   ; scripts/setup.sh base && scripts/build.sh release
build-ros1: ; scripts/setup.sh ros1 && scripts/build.sh ros1
build-lab: ; scripts/setup.sh lab && scripts/build.sh lab
peers:   ; scripts/setup.sh peers && cmake --preset lab -DBATON_PERF_RUST=ON >/dev/null && scripts/build.sh lab
demo:    ; scripts/setup.sh base && scripts/build.sh release --target baton_demo && .venv/bin/baton demo $(ARGS)
test:    ; scripts/setup.sh test && scripts/build.sh release && scripts/run_tests.py core && scripts/run_tests.py other-ros2 --smoke
test-ros1: ; scripts/setup.sh ros1 && scripts/build.sh ros1 && scripts/run_tests.py ros1
test-lab: ; scripts/setup.sh lab && scripts/build.sh lab && scripts/run_tests.py lab
nightly: ; .venv/bin/python scripts/parts.py nightly $(ARGS)
shake:   ; scripts/shake.py $(ARGS)
coverage: ; scripts/setup.sh coverage && .venv/bin/python scripts/covered_lines.py $(ARGS)
mutants: ; scripts/setup.sh test && .venv/bin/python scripts/mutants.py $(ARGS)
slowest: ; @scripts/slowest.py $(ARGS)
check:   ; scripts/setup.sh check && scripts/check.sh
tidy:    ; scripts/setup.sh check && scripts/build.sh dev && scripts/tidy.sh
asan:    ; scripts/setup.sh base && scripts/sanitize.sh asan-ubsan
tsan:    ; scripts/setup.sh base && scripts/sanitize.sh tsan
fuzz:    ; scripts/setup.sh check && scripts/fuzz.sh 60
bench:   build-lab ; scripts/bench.sh $(ARGS)
torture: ; scripts/setup.sh all && scripts/torture.sh
api:     ; scripts/setup.sh check && scripts/api.sh
docs:    ; scripts/setup.sh base && .venv/bin/python scripts/make_results.py --marks && .venv/bin/python scripts/check_docs.py && .venv/bin/python scripts/check_figures.py
accept:  build-lab ; scripts/accept.sh $(ARGS)
results: peers ; .venv/bin/python scripts/record_results.py $(ARGS)
wheels:  ; scripts/setup.sh check && .venv/bin/python scripts/make_wheels.py $(ARGS)
packages: ; scripts/setup.sh packages && scripts/packages.sh
packages-test: ; scripts/setup.sh packages && scripts/packages_test.sh $(ARGS)
release: ; scripts/setup.sh packages && .venv/bin/python scripts/release.py $(ARGS)
