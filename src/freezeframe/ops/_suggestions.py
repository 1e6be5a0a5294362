"""Commands of other debuggers, and what they are called here.

Used only for a command line that is refused, to suggest the right one. A command that can simply
be accepted is an alias in its operation's declaration instead.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

# Left: the command as typed. `a|b` is either, N a whole number, X and Y any one word, … all that
# follow (at least one word; none are needed where the right side does not use them).
# Right: the dbg command, with the matched words filled in; '…' is quoted as one word.
_PATTERNS = """
info variables                         locals
info globals                           globals
info breakpoints|break|b               breakpoint list
info watchpoints                       watch list
info tasks|goroutines                  threads
tasks|task|goroutines|goroutine|coroutines|fibers   threads
info f                                 context
info s                                 backtrace
info registers|reg|r                   registers
info registers|reg|r …                 registers …
info source|line                       source
info line …                            source …
info program|target|proc               status
info symbol|address X                  print --format address X
info functions|types|sharedlibrary|signals   raw info …
show …                                 config
bt|backtrace|where|w full              backtrace --locals
where|w N                              backtrace N
bt|backtrace all                       backtrace --all-threads
bt -c N                                backtrace N
thread|t apply all …                   backtrace --all-threads
thread|t backtrace|bt all              backtrace --all-threads
thread|t backtrace|bt                  backtrace
t list                                 threads
thread|t info                          thread
thread|t select|switch N               thread N
thread|t step-over|next                next
thread|t step-in|step                  step
thread|t step-out|finish               finish
thread|t until …                       until …
t N                                    thread N
w                                      backtrace
where|dump                             backtrace
frame|f variable|v                     locals
frame|f variable|v …                   print …
frame|f info                           context
frame|f select|switch N                frame N
f|fr                                   frame
f|fr N                                 frame N
v|vo                                   locals
v|fr|po|pp|pprint|inspect|dump|call|expr|expression|evaluate|ev …   print …
whatis|ptype|what …                    print --type …
p/x|print/x|output/x …                 print --format hex …
p/t|print/t …                          print --format binary …
p/a|print/a …                          print --format address …
display|undisplay|tracepoint …         print …
x|examine …                            memory read …
x/                                     memory read '$sp'
x/ …                                   memory read …
mem …                                  memory read …
di|disas|disassembly                   disassemble
di|disas|disassembly …                 disassemble …
reg                                    registers
register read                          registers
reg|register read …                    registers …
tbreak|tb|thbreak|hbreak …             break --temporary …
break|b|tbreak X if …                  break X -c '…'
break|b X --when …                     break X -c '…'
break|b remove|delete|del|rm|clear N   breakpoint remove N
break|b enable N                       breakpoint enable N
break|b disable N                      breakpoint disable N
break|b X N                            break X:N
br|bp|breakpoint set|s --name|-n X     break X
br|bp|breakpoint set|s -f X -l N       break X:N
br|bp|breakpoint set|s --file X --line N   break X:N
br|bp set|s …                          break …
br|bp|breakpoint l                     breakpoint list
br|bp list                             breakpoint list
br|bp delete|del …                     breakpoint remove …
breakpoint delete|del|rm|clear …       breakpoint remove …
breakpoint delete|del|rm|clear         breakpoint remove --all
breakpoint set|new|create …            break …
br|bp|breakpoints                      breakpoint list
br|bp|stop at|in …                     break …
br|bp|bpt|brk …                        break …
breakpoint|br|bp modify -c|--condition X N   condition N X
breakpoint|br|bp modify N -c|--condition …   condition N …
ignore N …                             breakpoint list
commands N print|p|display …           display …
break|b X --do|--command|--commands|--action|--exec …   break X --log 'n is {n}'
commands                               batch
commands …                             breakpoint list
d                                      down
delete|del|cl|clear|clearall           breakpoint remove --all
delete|del|d breakpoints               breakpoint remove --all
delete|del|d|cl|clear …                breakpoint remove …
logpoint|dprintf|log X …               break X --log '…'
hotswap|hot-swap|swap|redefine …       restart
rwatch …                               watch --read …
awatch …                               watch --access …
watchpoint|wa set variable|v|expression …   watch …
watchpoint|wa list                     watch list
watchpoint|wa delete N                 watch remove N
catch|trace exception|exceptions       catch raised
exception|exceptions|except            catch list
exception|exceptions|except …          catch …
r|go|exec                              help start
r|go|exec|open|load|file …       start …
process launch                         help start
process launch …                       start …
process attach --pid|-p N              attach N
process continue|c                     continue
process interrupt                      pause
process kill                           stop
process detach                         detach
process status                         status
attach -p|--pid N                      attach N
await|wait N                           await --timeout N
start|run|launch --args …              start …
target create …                        start …
cont|con|resume|fg                     continue
cont|con|resume N                      continue N
cont|con|resume -n|--count N           continue --count N
step_over|stepover|over                next
step_in|step_into|stepin|stepinto|into|in   step
step_out|stepout|return|ret|up-out|fin|gu   finish
stepi|si|nexti|ni                      step --instruction
unt|advance|tbreak-until|run-to|runto …   until …
unt|advance                            next
j|goto|tj …                            jump …
interrupt|break-all|halt|suspend       pause
l|ls|ll|code|src|longlist              source
l|ls|ll|list|code|src|longlist …       source …
u|upframe                              up
dn|downframe|d                         down
stacktrace|trace|frames|callstack|call-stack   backtrace
stacktrace|frames|callstack …          backtrace
a|arguments|params                     args
vars|variables|scope|scopes|env        locals
lo|local                               locals
assign|setvar|set-variable …           set …
set var|variable …                     set …
set args …                             start --help
let …                                  set …
k|end|terminate|q|exit|bye|close       stop
rerun|reload|reset                     restart
stop|kill|quit X                       stop -s X
restart|rerun X                        restart -s X
state|ping|health|subprocesses|procs   status
session|ses                            sessions
session|ses X                          use X
session list                           sessions
switch|select X                        use X
stdout|stderr|log|tail|console         output
stdin|send|type|write …                input …
monitor|mon|native|command …            raw …
capabilities|version-info|which        tool
install|update|upgrade                 setup
install|update|upgrade X               setup X --run
check|diagnose|selftest                doctor
debuggers|backends|languages           adapters
log|journal                            logs
man|usage|commands|?                   help
man|usage …                            help …
alias|source-file|script|eval-file …   batch …
"""


@functools.cache
def _table() -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the parsed rows; parsed on first use, since most daemons never need them."""
    rows = (re.split(r"\s{2,}", row, maxsplit=1) for row in _PATTERNS.strip().splitlines())
    return tuple((tuple(left.split()), right.strip()) for left, right in rows)


def guess(tokens: Sequence[str]) -> str | None:
    """Return the dbg command line, without `dbg`, for a command of another debugger."""
    if not tokens:
        return None
    # `x/4xw $sp`: the format is part of the word. Known formats have rows; others are dropped.
    formatted = re.fullmatch(r"(x|examine)(/\w*)", tokens[0])
    typed = ["x/", *tokens[1:]] if formatted else list(tokens)
    # `b file:line, condition` is `b file:line if condition` elsewhere.
    if len(typed) > 2 and typed[0] in ("break", "b", "tbreak") and typed[1].endswith(","):
        typed[1:2] = [typed[1][:-1], "if"]
    if typed[0] == "i":
        typed[0] = "info"
    # An assignment or a statement of the program's language, as pdb takes it.
    if len(typed) > 2 and typed[1] == "=" and typed[0].isidentifier():
        return f"set {quoted(typed[0], ' '.join(typed[2:]))}"
    if typed[0].startswith("!") and (statement := " ".join(typed)[1:].strip()):
        return f"eval {quoted(statement)}"
    for pattern, command in _table():
        caught = _match(pattern, typed)
        if caught is not None:
            return _fill(command, caught)
    return None


def guesses() -> list[tuple[str, str]]:
    """Return a typed line and the suggested command line for every row, for tests."""
    stand_in = {"N": "3", "X": "app.py:7", "Y": "y", "…": "name"}
    found = []
    for pattern, _ in _table():
        typed = [stand_in.get(word, word.split("|")[0]) for word in pattern]
        # A row that an earlier one shadows shows up here as a wrong answer.
        command = guess(typed)
        assert command is not None
        found.append((" ".join(typed), command))
    return found


def nearest(word: str, names: Iterable[str], *, count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return up to *count* of *names* that *word* is probably a misspelling or beginning of."""
    import difflib  # imported here: it takes 2 ms, and only a mistake needs it

    among = list(names)
    begins = [each for each in among if len(word) > 1 and each.startswith(word)]
    close = difflib.get_close_matches(word, among, n=count, cutoff=cutoff)
    return list(dict.fromkeys([*sorted(begins, key=len), *close]))[:count]


def quoted(*args: str) -> str:
    """Return *args* quoted for a shell, as a person would quote them."""
    return " ".join(_quoted(each) for each in args)


def _quoted(word: str) -> str:
    if re.fullmatch(r"[\w@%+=:,./-]+", word):
        return word
    if "'" not in word:
        return f"'{word}'"
    if not re.search(r'["$`\\!]', word):
        return f'"{word}"'
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _match(pattern: tuple[str, ...], typed: Sequence[str]) -> dict[str, str] | None:
    caught: dict[str, str] = {}
    for index, part in enumerate(pattern):
        if index >= len(typed):
            return None
        word = typed[index]
        if part == "…":
            caught["…"] = quoted(*typed[index:])
            caught["'…'"] = quoted(" ".join(typed[index:]))
            return caught
        if part in ("X", "Y") or (part == "N" and re.fullmatch(r"\d+", word)):
            caught[part] = word
        elif word not in part.split("|"):
            return None
    return caught if len(typed) == len(pattern) else None


def _fill(command: str, caught: dict[str, str]) -> str:
    def put(match: re.Match[str]) -> str:
        return caught.get(match.group(), match.group())

    return re.sub(r"'…'|…|\b[NXY]\b", put, command)
