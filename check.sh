#!/bin/sh
# Installs what the tests need, and passes them. Words are handed to pytest: sh check.sh -k threads
set -eu
cd "$(dirname "$0")"
. scripts/setup.sh
. scripts/debuggers.sh

make_venv .venv
install_into .venv dev
PATH=$PWD/.venv/bin:$PATH
export PATH

# Most of an installation is waiting: the types are checked meanwhile.
mkdir -p .cache
mypy >.cache/mypy.txt 2>&1 &
checking=$!
# pytest compiles every test with its own assertions. Done once here, and not by each of its workers.
PYTHONDONTWRITEBYTECODE= python -m pytest --collect-only -q >/dev/null 2>&1 &

# zsh and fish: the completion scripts are tried in them.
for tool in zsh fish; do need "$tool"; done
# The page of a recorded run is opened in a real browser.
need chromium
# Debuggers and compilers of native code. gdb also joins Pythons by their pid.
need gdb
need gdbserver
install_lldb
install_codelldb
install_gdb_dap
need gcc "gcc libc6-dev"
need g++
# GoogleTest is a header and a library, no command.
[ -e /usr/include/gtest/gtest.h ] || [ "$(uname)" != Linux ] || system_package libgtest-dev ||
    say "GoogleTest cannot be installed here: it is not tested."
# A toolchain of rustup's is found although its folder may not be on PATH.
[ ! -x "${CARGO_HOME:-${HOME:-}/.cargo}/bin/rustc" ] || PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin
need rustc
need cargo
install_delve
# Ruby brings its debugger along: the debug gem is one of its own.
need ruby
# minitest and test-unit come with it, RSpec does not.
need rspec ruby-rspec
# All of Perl, which has prove in it: many systems come with a part.
need prove perl
need ghci ghc
need ocamldebug ocaml-nox
# Java's compiler and debug interface are in its development kit, not in what only runs programs.
need jdb openjdk-17-jdk-headless
install_php
need phpunit
install_js_debug
install_typescript
# Windows is tested under wine.
install_wine

step() {
    say "== $*"
    "$@"
}

step ruff check .
step ruff format --check .
say "== mypy"
wait "$checking" || { cat .cache/mypy.txt >&2; exit 1; }
cat .cache/mypy.txt
# Every test has a daemon, a folder and a project of its own, so they run side by side: three debuggers
# and their programs on, often, two cores. Up to three tests that fail there are run once more, alone. One
# that fails again fails the run. One that passes then is a fault to be found all the same: both results
# are printed.
run_tests() {
    rm -f .cache/promises.json
    status=0
    step python -m pytest -q --cache-clear -n "${FREEZEFRAME_TEST_WORKERS:-3}" --dist worksteal "$@" || status=$?
    [ "$status" = 1 ] || return "$status"
    failed=$(python -c 'import json; print(len(json.load(open(".pytest_cache/v/cache/lastfailed"))))')
    [ "$failed" -le 3 ] || return 1
    say "== $failed failed beside others; once more, alone"
    step python -m pytest -q --last-failed --last-failed-no-failures none "$@"
}
run_tests "$@"
# The page of debuggers says what a whole run saw.
[ $# -gt 0 ] || step python tools/debuggers_page.py --check
say "== all passed"
