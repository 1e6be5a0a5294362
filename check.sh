#!/bin/sh
# Installs what the tests need, and passes them. Words are handed to pytest: sh check.sh -k threads
set -eu
cd "$(dirname "$0")"
. scripts/setup.sh

make_venv .venv
install_into .venv dev
PATH=$PWD/.venv/bin:$PATH
export PATH

# Joining a program by its pid needs gdb on Linux.
if [ "$(uname)" = Linux ] && ! command -v gdb >/dev/null 2>&1; then
    system_package gdb || say "gdb is not installed: joining a program by its pid is not tested here."
fi

step() {
    say "== $*"
    "$@"
}

step ruff check .
step ruff format --check .
step mypy
# Every test has a daemon, a folder and a project of its own, so they run side by side where they can.
if python -c 'import xdist' 2>/dev/null; then
    step python -m pytest -q -n "${FREEZEFRAME_TEST_WORKERS:-2}" "$@"
else
    step python -m pytest -q "$@"
fi
