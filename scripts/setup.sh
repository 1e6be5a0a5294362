# Sourced by demo.sh and check.sh: a Python, a virtual environment, what goes into it.
# POSIX sh; needs nothing but Python 3.11 or newer, and installs python3-venv where Debian left it out.

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$1"
    [ $# -lt 2 ] || say "  next: $2"
    exit 1
}

# What is fetched is kept here for the next clone: a registry that does not answer stops nobody twice.
kept=${FREEZEFRAME_KEPT:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/freezeframe-setup}

# Runs the command; again after 10, 20, 40, 80 and 160 seconds when it fails. A registry that cannot be
# reached for a moment looks like one that has no such package, so every failure is tried again.
retry() {
    ! "$@" || return 0
    for pause in ${FREEZEFRAME_RETRY:-10 20 40 80 160}; do
        say "failed, once more in $pause s: $1 ${2:-} ${3:-} ${4:-}"
        sleep "$pause"
        ! "$@" || return 0
    done
    return 1
}

# A package of the system, by apt-get when we are root. Fails when that cannot be.
system_package() {
    command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || return 1
    say "installing $* with apt-get"
    install_package "$@" && return 0
    # Fresh images come without package lists.
    retry apt_get update && apt-cache show "$@" >/dev/null 2>&1 && retry install_package "$@"
}

install_package() { apt_get install -y --no-install-recommends "$@"; }

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >/dev/null 2>&1; }

# Makes sure that the command $1 is there, by the system's package $2 (the same name without it).
# Without it the tests that need it are skipped and say so; in CI they fail.
need() {
    command -v "$1" >/dev/null 2>&1 || [ "$(uname)" != Linux ] || system_package ${2:-$1} ||
        say "$1 is not installed and cannot be installed here: what needs it is not tested."
}

# Whether there is an lldb-dap, by its own name or with a version behind it.
has_lldb() {
    for name in lldb-dap $(seq -f 'lldb-dap-%g' 30 -1 18); do
        ! command -v "$name" >/dev/null 2>&1 || return 0
    done
    return 1
}

# The newest LLDB that the system has; lldb-dap is in it from 18 on.
install_lldb() {
    ! has_lldb || return 0
    newest() { apt-cache search --names-only '^lldb-[0-9]+$' 2>/dev/null | sed 's/ .*//' | sort -V | tail -n 1; }
    if command -v apt-cache >/dev/null 2>&1 && [ "$(uname)" = Linux ]; then
        package=$(newest)
        # Fresh images come without package lists.
        [ -n "$package" ] || [ "$(id -u)" != 0 ] || { apt-get update -qq >/dev/null 2>&1 && package=$(newest); }
        [ -z "$package" ] || ! system_package "$package" || ! has_lldb || return 0
    fi
    say "lldb-dap is not installed and cannot be installed here: what needs it is not tested."
}

# Prints a Python that is new enough: $PYTHON, those on PATH, those of pyenv. Each is really started,
# because a shim of pyenv is there for versions that it then refuses to run.
find_python() {
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python \
        "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.1[1-9]*/bin/python3; do
        if found=$("$candidate" -c 'import sys
if sys.version_info < (3, 11): sys.exit(1)
print(sys.executable)' 2>/dev/null); then
            printf '%s\n' "$found"
            return 0
        fi
    done
    return 1
}

# Makes $1 a virtual environment, unless it is one that works.
make_venv() {
    if [ -x "$1/bin/python" ] && "$1/bin/python" -c 'import pip, sys
sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        return 0
    fi
    python=$(find_python) || die "Freezeframe needs Python 3.11 or newer, and there is none on PATH." \
        "PYTHON=/path/to/python3 sh $0"
    say "making $1 with $python"
    rm -rf "$1"
    if ! "$python" -m venv "$1" >/dev/null 2>&1; then
        rm -rf "$1"
        # Debian ships Python without ensurepip; the package with it has the version in its name.
        versioned=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        system_package "$versioned" || system_package python3-venv ||
            die "$python cannot make a virtual environment: its venv package is not installed." \
                "sudo apt-get install $versioned && sh $0"
        "$python" -m venv "$1"
    fi
}

# pip writes the interpreter's path into the first line of a script as it is, and no kernel starts a
# script whose first line has a space or is too long. Then the commands become scripts of the shell.
mend_commands() {
    read -r first <"$1/bin/dbg"
    case $first in
    *[[:space:]]*) ;;
    *) [ ${#first} -gt 120 ] || return 0 ;;
    esac
    for name in dbg debugger; do
        printf '#!/bin/sh\nexec "${0%%/*}/python" "${0%%/*}/../../scripts/%s" "$@"\n' "$name" >"$1/bin/$name"
    done
}

pip_of() {
    python=$1/bin/python
    shift
    "$python" -m pip --quiet --disable-pip-version-check --no-input "$@"
}

# Installs Freezeframe into $1, with the packages of the dependency groups that follow. Does nothing
# when it did the same before: what decides is what is installed, not when.
install_into() {
    venv=$1
    shift
    # Where it stands counts too: a folder that was moved has the old path in its commands.
    wanted=$(cat pyproject.toml src/freezeframe/client.py src/freezeframe/__init__.py | cksum)" $PWD $*"
    stamp=$venv/.freezeframe-installed
    [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
    say "installing Freezeframe${1:+ and what its tests need} into $venv"
    # Older pips know no dependency groups, so they are read here. hatchling asks for editables itself.
    "$venv/bin/python" - "$@" >"$venv/requirements.txt" <<'PYTHON'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
print("\n".join(project["build-system"]["requires"] + ["editables"] + project["project"]["dependencies"]))
for group in sys.argv[1:]:
    print("\n".join(project["dependency-groups"][group]))
PYTHON
    # Fetched first, then installed from what is there: also when the registry cannot be reached, and
    # the same was fetched before.
    retry pip_of "$venv" download --dest "$kept/wheels" -r "$venv/requirements.txt" ||
        say "the registry cannot be reached: what was fetched before is installed"
    pip_of "$venv" install --no-index --find-links "$kept/wheels" -e . -r "$venv/requirements.txt" ||
        die "pip could not install what pyproject.toml names." "$venv/bin/python -m pip install -e ."
    mend_commands "$venv"
    printf '%s' "$wanted" >"$stamp"
}
