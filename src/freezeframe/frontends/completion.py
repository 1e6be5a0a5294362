"""Shell completion for bash, zsh and fish, generated from the table of operations.

A script holds everything it offers and calls nothing, so a TAB never waits for a daemon. All
three work alike: walk the words to find the command, then offer what can follow: subcommands,
options, an option's choices, files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from freezeframe.errors import UsageError
from freezeframe.ops._registry import GLOBALS, OPS, OpSpec, ParamSpec, Registry

PROGRAMS = ("dbg", "debugger")

#: what the shells complete by themselves
_FILES = {"file": "file", "location": "file", "directory": "directory"}


def script(shell: str, ops: Registry = OPS) -> str:
    """Return the completion script for *shell*; raise UsageError where there is none for it."""
    write = SHELLS.get(shell)
    if write is None:
        fact = f"there is no completion for `{shell}`; there is for {', '.join(SHELLS)}."
        raise UsageError(fact, next="dbg completion bash")
    return write(_Words.of(ops))


@dataclass(frozen=True, slots=True)
class _Command:
    """One operation, under every spelling that it has."""

    spec: OpSpec
    spellings: tuple[str, ...]
    options: tuple[ParamSpec, ...]
    #: what its words are: `file`, `directory`, or the choices; empty where nobody can know
    words: str


@dataclass(frozen=True, slots=True)
class _Words:
    commands: tuple[_Command, ...]
    #: what can follow the beginning of a name; the empty one has the first words
    following: dict[str, tuple[tuple[str, str], ...]]

    @classmethod
    def of(cls, ops: Registry) -> _Words:
        commands = []
        following: dict[str, dict[str, str]] = {"": {}}
        for spec in ops:
            if spec.hidden:
                continue
            spellings = []
            for spelling in (spec.name, *spec.aliases):
                words = spelling.split()
                if spelling.startswith("-"):
                    continue
                if len(words) > 1 and words[-1].isupper():
                    words.pop()
                spellings.append(" ".join(words))
                for at, word in enumerate(words):
                    last = at == len(words) - 1
                    among = following.setdefault(" ".join(words[:at]), {})
                    if last or word not in among:
                        among[word] = spec.summary if last else f"{word} …"
            options = tuple(
                param
                for param in spec.params
                if not (param.positional or param.rest or param.hidden)
            )
            commands.append(_Command(spec, tuple(spellings), options, _word_kind(spec)))
        return cls(
            _one_meaning_each(commands),
            {begin: tuple(words.items()) for begin, words in following.items()},
        )


def _one_meaning_each(commands: list[_Command]) -> tuple[_Command, ...]:
    """Leave a spelling that two operations share (`run`) to the one that takes words."""
    owner: dict[str, _Command] = {}
    for command in commands:
        for spelling in command.spellings:
            if spelling not in owner or not owner[spelling].words:
                owner[spelling] = command
    return tuple(
        _Command(
            command.spec,
            tuple(spelling for spelling in command.spellings if owner[spelling] is command),
            command.options,
            command.words,
        )
        for command in commands
    )


def _word_kind(spec: OpSpec) -> str:
    params = [*spec.positionals, *((spec.rest,) if spec.rest else ())]
    kinds = [_value_kind(param) for param in params]
    return next((kind for kind in kinds if kind), "file" if spec.rest else "")


def _value_kind(param: ParamSpec) -> str:
    """Return `file`, `directory`, the choices with spaces between, or nothing."""
    if param.type.choices:
        return " ".join(param.type.choices)
    return _FILES.get(param.complete or "", "")


def _spellings(param: ParamSpec) -> list[str]:
    found = [param.long]
    if param.is_flag and param.type.optional:
        found.append(f"--no-{param.spelling}")
    return [*found, param.short] if param.short else found


def _case(patterns: Iterable[str], body: str, indent: str = "        ") -> str:
    return f"{indent}{'|'.join(_quote(pattern) for pattern in patterns)}) {body} ;;"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# --- bash, zsh ----------------------------------------------------------------------------------


def _cases(words: _Words) -> dict[str, str]:
    """Return the bodies of the case statements that bash and zsh share.

    `following`, `options` and `words` are chosen by the command, `values` by the command and the
    option together.
    """
    following = [
        _case([begin], f"found={_quote(' '.join(word for word, _ in after))}")
        for begin, after in words.following.items()
    ]
    options, positional, values = [], [], []
    for command in words.commands:
        if not command.spellings:
            continue
        if command.options:
            flags = [spelling for param in command.options for spelling in _spellings(param)]
            options.append(_case(command.spellings, f"found={_quote(' '.join(flags))}"))
        if command.words:
            positional.append(_case(command.spellings, f"found={_quote(command.words)}"))
        for param in command.options:
            if not param.is_flag:
                patterns = [
                    f"{name} {flag}" for name in command.spellings for flag in _spellings(param)
                ]
                values.append(_case(patterns, f"found={_quote(_value_kind(param) or 'any')}"))
    common = [spelling for param in GLOBALS for spelling in _spellings(param)]
    takes = [spelling for param in GLOBALS if not param.is_flag for spelling in _spellings(param)]
    values.append("        " + "|".join(f"*' {flag}'" for flag in takes) + ") found=any ;;")
    parts = {"following": following, "options": options, "words": positional, "values": values}
    return {"common": " ".join(common)} | {name: "\n".join(parts[name]) for name in parts}


_LOOKUPS = """\
# Each sets `found` to what can stand there: words, `file`, `directory`, or `any`.
_dbg_following() {{
    found=''
    case "$1" in
{following}
    esac
}}

_dbg_options() {{
    found=''
    case "$1" in
{options}
    esac
    found="${{found:+$found }}{common}"
}}

_dbg_words() {{
    found=''
    case "$1" in
{words}
    esac
}}

_dbg_value() {{
    found=''
    case "$1" in
{values}
    esac
}}
"""

_BASH = """\
# bash completion for dbg. Generated: dbg completion bash

{lookups}
_dbg_offer() {{
    local IFS=$'\\n'
    case "$1" in
        file) COMPREPLY=($(compgen -f -- "$2")); compopt -o filenames 2>/dev/null ;;
        directory) COMPREPLY=($(compgen -d -- "$2")); compopt -o filenames 2>/dev/null ;;
        any|'') COMPREPLY=() ;;
        *) COMPREPLY=($(compgen -W "${{1// /$IFS}}" -- "$2")) ;;
    esac
}}

_dbg() {{
    local found path='' word option='' at
    local current="${{COMP_WORDS[COMP_CWORD]}}"
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        word="${{COMP_WORDS[at]}}"
        # bash takes `--option=value` apart.
        if [[ "$word" == '=' ]]; then continue; fi
        if [[ -n "$option" ]]; then option=''; continue; fi
        if [[ "$word" == '--' ]]; then _dbg_offer file "$current"; return; fi
        if [[ "$word" == -* ]]; then
            _dbg_value "$path $word"
            if [[ -n "$found" ]]; then option="$word"; fi
            continue
        fi
        _dbg_following "$path"
        if [[ " $found " == *" $word "* ]]; then path="${{path:+$path }}$word"; fi
    done
    if [[ "$current" == '=' ]]; then current=''; fi
    if [[ -n "$option" ]]; then
        _dbg_value "$path $option"
    elif [[ "$current" == -* ]]; then
        _dbg_options "$path"
    else
        # A name that can go on may take words as well: they are offered where it does not.
        _dbg_following "$path"
        _dbg_offer "$found" "$current"
        if [[ ${{#COMPREPLY[@]}} -gt 0 ]]; then return; fi
        _dbg_words "$path"
    fi
    _dbg_offer "$found" "$current"
}}

complete -F _dbg {programs}
"""

_ZSH = """\
#compdef {programs}
# zsh completion for dbg. Generated: dbg completion zsh

{lookups}
_dbg_offer() {{
    case "$1" in
        file) _files ;;
        directory) _files -/ ;;
        any|'') ;;
        *) compadd -- ${{=1}} ;;
    esac
}}

_dbg() {{
    local found path_='' word option='' at
    for ((at = 2; at < CURRENT; at++)); do
        word="${{words[at]}}"
        if [[ -n "$option" ]]; then option=''; continue; fi
        if [[ "$word" == '--' ]]; then _files; return; fi
        if [[ "$word" == -* ]]; then
            _dbg_value "$path_ $word"
            if [[ -n "$found" ]]; then option="$word"; fi
            continue
        fi
        _dbg_following "$path_"
        if [[ " $found " == *" $word "* ]]; then path_="${{path_:+$path_ }}$word"; fi
    done
    if [[ -n "$option" ]]; then
        _dbg_value "$path_ $option"
        _dbg_offer "$found"
    elif [[ "$PREFIX" == --*=* ]]; then
        _dbg_value "$path_ ${{PREFIX%%=*}}"
        compset -P '*='
        _dbg_offer "$found"
    elif [[ "$PREFIX" == -* ]]; then
        _dbg_options "$path_"
        _dbg_offer "$found"
    else
        _dbg_following "$path_"
        _dbg_offer "${{found:-any}}"
        _dbg_words "$path_"
        _dbg_offer "${{found:-any}}"
    fi
}}

if [[ "$funcstack[1]" == _dbg ]]; then
    _dbg "$@"
else
    compdef _dbg {programs}
fi
"""


def _bash(words: _Words) -> str:
    lookups = _LOOKUPS.format(**_cases(words))
    return _BASH.format(lookups=lookups, programs=" ".join(PROGRAMS))


def _zsh(words: _Words) -> str:
    lookups = _LOOKUPS.format(**_cases(words))
    return _ZSH.format(lookups=lookups, programs=" ".join(PROGRAMS))


# --- fish ---------------------------------------------------------------------------------------

_FISH = """\
# fish completion for dbg. Generated: dbg completion fish

function __dbg_following
    switch "$argv[1]"
{following}
    end
end

function __dbg_takes_value
    switch "$argv[1]"
{values}
    end
    return 1
end

# The words of the command's name, as far as they are typed; a slash after `--`.
function __dbg_path
    set -l path ''
    set -l skip 0
    set -l typed (commandline -opc)
    for word in $typed[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        # `case --` would be read as the end of options of `case`.
        if test "$word" = --
            echo /
            return
        end
        if string match -q -- '-*' $word
            if __dbg_takes_value "$path $word"
                set skip 1
            end
            continue
        end
        if contains -- $word (__dbg_following "$path")
            set path (string trim "$path $word")
        end
    end
    echo $path
end

function __dbg_at
    contains -- (__dbg_path) $argv
end

{rules}
"""


def _fish(words: _Words) -> str:
    following = [
        f"        case {_quote(begin)}\n            printf '%s\\n' "
        + " ".join(word for word, _ in after)
        for begin, after in words.following.items()
    ]
    values, rules = [], []
    for begin, after in words.following.items():
        rules += [
            f"complete -c dbg -f -n {_condition([begin])} -a {word} -d {_fish_quote(summary)}"
            for word, summary in after
        ]
    for command in words.commands:
        if not command.spellings:
            continue
        condition = _condition(command.spellings)
        if command.words == "file":
            rules.append(f"complete -c dbg -F -n {condition}")
        elif command.words == "directory":
            rules.append(f"complete -c dbg -f -n {condition} -a '(__fish_complete_directories)'")
        elif command.words:
            rules.append(f"complete -c dbg -f -n {condition} -a {_fish_quote(command.words)}")
        for param in command.options:
            rules.append(_fish_option(param, f" -n {condition}"))
            if not param.is_flag:
                values += [
                    f"{name} {flag}" for name in command.spellings for flag in _spellings(param)
                ]
    for param in GLOBALS:
        rules.append(_fish_option(param, ""))
        if not param.is_flag:
            # In fish a quoted star in a case is still a pattern.
            values += [f"* {flag}" for flag in _spellings(param)]
    rules.append("complete -c dbg -F -n '__dbg_at /'")
    rules += [f"complete -c {program} -w {PROGRAMS[0]}" for program in PROGRAMS[1:]]
    takes = [f"        case {_fish_quote(value)}\n            return 0" for value in values]
    return _FISH.format(
        following="\n".join(following), values="\n".join(takes), rules="\n".join(rules)
    )


def _condition(spellings: Iterable[str]) -> str:
    names = " ".join(f'"{spelling}"' for spelling in spellings)
    return f"'__dbg_at {names}'"


def _fish_option(param: ParamSpec, condition: str) -> str:
    parts = [f"complete -c dbg{condition}"]
    for spelling in _spellings(param):
        parts.append(f"-l {spelling[2:]}" if spelling.startswith("--") else f"-s {spelling[1:]}")
    kind = _value_kind(param)
    if kind == "file":
        parts.append("-r -F")
    elif kind == "directory":
        parts.append("-x -a '(__fish_complete_directories)'")
    elif kind:
        parts.append(f"-x -a {_fish_quote(kind)}")
    elif not param.is_flag:
        parts.append("-x")
    parts.append(f"-d {_fish_quote(param.help)}")
    return " ".join(parts)


def _fish_quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: dict[str, Callable[[_Words], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
