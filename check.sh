#!/bin/sh
# Installs what the tests need, and passes them. Words are handed to pytest: sh check.sh -k threads
set -eu
cd "$(dirname "$0")"
. scripts/setup.sh

make_venv .venv
install_into .venv dev
PATH=$PWD/.venv/bin:$PATH
export PATH

# gdb: joining a program by its pid on Linux. zsh and fish: the completion scripts are tried in them.
# Without them those tests are skipped, and say so.
for tool in gdb zsh fish; do
    command -v "$tool" >/dev/null 2>&1 || [ "$(uname)" != Linux ] || system_package "$tool" ||
        say "$tool is not installed and cannot be installed here: what needs it is not tested."
done

step() {
    say "== $*"
    "$@"
}

step ruff check .
step ruff format --check .
step mypy
# Every test has a daemon, a folder and a project of its own, so they run side by side.
step python -m pytest -q -n "${FREEZEFRAME_TEST_WORKERS:-2}" "$@"
say "== all passed"
