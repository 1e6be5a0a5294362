#!/bin/sh
# A real debugging session on a real bug, in half a minute. Leaves nothing behind but .venv.
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

note() { printf '\n# %s\n' "$*"; }

# Shows a command as one would type it, and runs it.
run() {
    printf '$'
    for word; do
        case $word in
        *[!A-Za-z0-9_./:=-]*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$@"
}

mkdir "$FREEZEFRAME_HOME/bank"
cp examples/ledger.py "$FREEZEFRAME_HOME/bank"
cd "$FREEZEFRAME_HOME/bank"
line=$(grep -n 'lines"\].append' ledger.py | cut -d: -f1)

note "Bo got one refund, of 45. The ledger says otherwise:"
run python ledger.py || true

note "Stop where Bo gets his first line. One call answers with the whole picture."
run dbg break "ledger.py:$line" -c "statement['owner'] == 'Bo'"
run dbg start ledger.py

note "His statement is new, and holds what Ada was paid. Whose list is that?"
run dbg print "statement['lines'] is TEMPLATE['lines']"

note "Everybody's: dict() copies the outside only. Give each statement a list of its own, run again."
sed 's/dict(TEMPLATE)/{**TEMPLATE, "lines": []}/' ledger.py >fixed.py && mv fixed.py ledger.py
run dbg batch "breakpoint remove --all" restart
