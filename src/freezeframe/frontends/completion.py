"""Shell completion: `dbg __complete WORD…` returns the candidates, short scripts request them.

The scripts for bash, zsh and fish send the arguments up to the cursor and offer the answer; what
can be typed is known here only.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from freezeframe.errors import UsageError
from freezeframe.ops._registry import GLOBAL_OPTIONS, OPS, OpSpec, ParamSpec, Registry

#: the command that the scripts run; it is answered without an operation
COMMAND = "__complete"
#: what the shells complete themselves
FILES, DIRECTORIES = ":file", ":directory"
_BY_SHELL = MappingProxyType({"file": FILES, "location": FILES, "directory": DIRECTORIES})


def complete(typed: Sequence[str], ops: Registry = OPS) -> list[str]:
    """Return what can replace the last word: candidates, some with a tab and a summary.

    The only line is `:file` or `:directory` where the shell completes paths.
    """
    *before, current = typed or ("",)
    path: list[str] = []
    option: ParamSpec | None = None
    for word in before:
        if word == "=":  # bash splits `--option=value`
            continue
        if option is not None:
            option = None
        elif word == "--":
            return [FILES]
        elif word.startswith("-"):
            option = _takes_value(word, _op(path, ops))
        elif word in ops.subcommands(path):
            path.append(word)
    op = _op(path, ops)
    if option is not None:
        return _beginning("" if current == "=" else current, _values(option))
    if current.startswith("-"):
        name, equals, value = current.partition("=")
        if equals and (option := _takes_value(name, op)):
            found = _beginning(value, _values(option))
            return (
                found if found[:1] in ([FILES], [DIRECTORIES]) else [f"{name}={v}" for v in found]
            )
        return _beginning(current, _options(op))
    # A name with subcommands may take arguments too: they are offered if no subcommand matches.
    names = [f"{word}\t{_summary([*path, word], ops)}" for word in ops.subcommands(path)]
    names = _beginning(current, [name for name in names if not name.startswith("-")])
    return names or _beginning(current, _arguments(op) if op else [])


def _op(path: Sequence[str], ops: Registry) -> OpSpec | None:
    """Return the operation of a name; of `run` and `run PROGRAM`, the one with arguments."""
    found = ops.matches([*path, ""])
    return found[-1][0] if found and found[-1][1] == len(path) else None


def _beginning(word: str, candidates: Sequence[str]) -> list[str]:
    return [each for each in candidates if each.startswith((word, ":"))]


def _takes_value(word: str, op: OpSpec | None) -> ParamSpec | None:
    param, _ = (op.options if op else {}).get(word) or GLOBAL_OPTIONS.get(word) or (None, None)
    return None if param is None or param.is_flag else param


def _options(op: OpSpec | None) -> list[str]:
    options = {**(op.options if op else {}), **GLOBAL_OPTIONS}
    return [
        f"{name}\t{param.help}"
        for name, (param, _) in options.items()
        if not param.hidden and name not in param.also
    ]


def _summary(path: Sequence[str], ops: Registry) -> str:
    op = _op(path, ops)
    return op.summary if op is not None and not op.hidden else f"{path[-1]} …"


def _arguments(op: OpSpec) -> list[str]:
    params = [*op.positionals, *((op.rest,) if op.rest else ())]
    kinds = (_values(param) for param in params)
    return next((kind for kind in kinds if kind), [FILES] if op.rest else [])


def _values(param: ParamSpec) -> list[str]:
    if param.type.choices:
        return list(param.type.choices)
    by_shell = _BY_SHELL.get(param.complete or "")
    return [by_shell] if by_shell else []


# --- the scripts ----------------------------------------------------------------------------------

_BASH = """\
# bash completion for dbg. Generated: dbg completion bash
_dbg() {
    local IFS=$'\\n' current="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=($(dbg __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
    if [[ "$current" == '=' ]]; then current=''; fi
    case "${COMPREPLY[0]}" in
        :file) COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;
        :directory) COMPREPLY=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null ;;
    esac
}

complete -F _dbg dbg debugger
"""

_ZSH = """\
#compdef dbg debugger
# zsh completion for dbg. Generated: dbg completion zsh
_dbg() {
    local -a found
    found=("${(@f)$(dbg __complete "${(@)words[2,CURRENT]}" 2>/dev/null | cut -f 1)}")
    case "$found[1]" in
        :file) compset -P '--*='; _files ;;
        :directory) compset -P '--*='; _files -/ ;;
        ?*) compadd -- $found ;;
    esac
}

if [[ "$funcstack[1]" == _dbg ]]; then
    _dbg "$@"
else
    compdef _dbg dbg debugger
fi
"""

_FISH = """\
# fish completion for dbg. Generated: dbg completion fish
function __dbg_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l found (dbg __complete $typed[2..-1] "$current" 2>/dev/null)
    set -l option (string match -r -- '^--[^=]*=' "$current")
    set -l value (string replace -r -- '^--[^=]*=' '' "$current")
    switch "$found[1]"
        case ':file'
            string replace -r -- '^' "$option" (__fish_complete_path $value)
        case ':directory'
            string replace -r -- '^' "$option" (__fish_complete_directories $value)
        case '*'
            printf '%s\\n' $found
    end
end

complete -c dbg -f -a '(__dbg_complete)'
complete -c debugger -w dbg
"""

SHELLS = MappingProxyType({"bash": _BASH, "zsh": _ZSH, "fish": _FISH})


def script(shell: str) -> str:
    """Return the completion script for *shell*. Raises UsageError for an unknown shell."""
    if shell not in SHELLS:
        fact = f"there is no completion for `{shell}`; there is for {', '.join(SHELLS)}."
        raise UsageError(fact, next="dbg completion bash")
    return SHELLS[shell]
