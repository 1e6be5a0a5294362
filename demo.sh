#!/bin/sh
# A real debugging session on a real bug, in half a minute. Leaves nothing behind but .venv, and the packages in it kept for the next one.
set -eu
cd "$(dirname "$0")"
. scripts/setup.sh

make_venv .venv
install_into .venv
PATH=$PWD/.venv/bin:$PATH
VIRTUAL_ENV=$PWD/.venv
# A daemon and a project of its own: whatever you are debugging at this moment is not touched.
FREEZEFRAME_HOME=$(mktemp -d /tmp/ff-demo.XXXXXX)
export PATH VIRTUAL_ENV FREEZEFRAME_HOME
unset DBG_SESSION FREEZEFRAME_DEBUGGER FREEZEFRAME_BUDGET

leave() {
    status=$?
    trap - EXIT
    dbg daemon stop >/dev/null 2>&1 || true
    cd /
    rm -rf "$FREEZEFRAME_HOME"
    exit $status
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkdir "$FREEZEFRAME_HOME/bank"
cp examples/ledger.py examples/test_ledger.py "$FREEZEFRAME_HOME/bank"
awk '/^```console$/ { on = 1; next } /^```$/ { if (on) exit } on' README.md >"$FREEZEFRAME_HOME/session"
cd "$FREEZEFRAME_HOME/bank"

# Plays the session that README.md shows: its remarks and commands are taken from there, the answers
# are real.
while IFS= read -r line; do
    case $line in
    '# '*) printf '\n%s\n' "$line" ;;
    '$ '*)
        printf '%s\n' "$line"
        sh -c "${line#??}" </dev/null 2>&1
        ;;
    esac
done <"$FREEZEFRAME_HOME/session"
