"""PHP code that is evaluated in the program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

#: the only variable that we create; unset after each evaluation
VARIABLE = "$__freezeframe"
#: superglobals
EVERYWHERE = re.compile(r"\$(?:GLOBALS|_SERVER|_GET|_POST|_FILES|_COOKIE|_SESSION|_REQUEST|_ENV)")
#: follows the nonce in the result of a statement without a value
DONE = "done"
#: A warning in the expression itself fails it; in functions that it calls it stays a warning.
_STRICT = (
    "set_error_handler(static function ($number, $message, $file) {"
    ' if (substr($file, -13) === "eval()\'d code")'
    " throw new \\ErrorException($message, 0, $number);"
    " return false; }, E_WARNING | E_NOTICE);"
)
#: The signal that otherwise pauses the program interrupts an evaluation that takes too long.
_BOUNDED = (
    "if (function_exists('pcntl_signal')) pcntl_signal(SIGURG,"
    " static function () { throw new \\Exception('interrupted'); });"
)
_UNBOUNDED = "if (function_exists('pcntl_signal')) pcntl_signal(SIGURG, 'xdebug_break');"

#: SIGURG, which programs rarely use, pauses the program at its next statement.
ENABLE_PAUSE = (
    "function_exists('pcntl_async_signals') && function_exists('pcntl_signal')"
    " && (pcntl_async_signals(true) || true) && pcntl_signal(SIGURG, 'xdebug_break')"
)

#: Xdebug formats floats by this setting; `-1` keeps all digits that distinguish a float.
PRECISION = "function_exists('ini_set') ? ini_get('precision') : '-1'"


def change_precision(old: str, new: str) -> str:
    """Return an expression that changes the setting, unless the program has changed it since."""
    return f"ini_get('precision') === {quote(old)} && ini_set('precision', {quote(new)})"


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def evaluation(
    expression: str, nonce: str, before: str = "", after: str = "", *, statement: bool = False
) -> str:
    """Return code for a value, or for an error message that begins with *nonce*.

    *before* are the declarations to prepend; *after* is evaluated last.
    """
    whole = quote(f"{before} return {expression}\n;")
    inner = f"return eval({whole});"
    if statement:
        # Run what is not an expression as a statement.
        body = quote(f"{before} {expression}\n;")
        inner = (
            f"try {{ {inner} }} catch (\\ParseError {VARIABLE}) "
            f"{{ unset({VARIABLE}); return eval({body}) ?? {quote(nonce + DONE)}; }}"
        )
    message = f"{quote(nonce)} . get_class({VARIABLE}) . ': ' . {VARIABLE}->getMessage()"
    code = (
        f"{_STRICT} {_BOUNDED} try {{ {inner} }} catch (\\Throwable {VARIABLE}) "
        f"{{ try {{ return {message}; }} finally {{ unset({VARIABLE}); }} }} "
        f"finally {{ restore_error_handler(); {_UNBOUNDED} {after}; }}"
    )
    return f"eval({quote(code)})"


def condition(expression: str, before: str = "") -> str:
    """Return an expression that is true if *expression* is true or cannot be evaluated."""
    inner = quote(f"{before} return {expression}\n;")
    code = (
        f"{_STRICT} try {{ return (bool) eval({inner}); }} catch (\\Throwable {VARIABLE}) "
        f"{{ unset({VARIABLE}); return true; }} finally {{ restore_error_handler(); }}"
    )
    return f"eval({quote(code)})"


def elsewhere(expression: str, variables: Mapping[str, str], this: str | None) -> str:
    """Return an expression with given variables; *this* is an expression for `$this`."""
    entries = ", ".join(f"{quote(name)} => {value}" for name, value in variables.items())
    body = f"function () {{ extract([{entries}]); return {expression}\n; }}"
    if this is None:
        return f"({body})()"
    return f"\\Closure::bind({body}, {this}, get_class({this}))()"


def object_of(level_from_outside: int) -> str:
    """Return an expression for `$this` of a frame, counted from the outermost function."""
    trace = "debug_backtrace(DEBUG_BACKTRACE_PROVIDE_OBJECT | DEBUG_BACKTRACE_IGNORE_ARGS)"
    return f"array_reverse({trace})[{level_from_outside}]['object']"


def argument(level_from_outside: int, function: str, name: str) -> str:
    """Return an expression for an argument of an outer frame's function."""
    why = quote(
        f"${name} is not a plain value, and Xdebug evaluates in the innermost frame only; "
        f"${name} itself, and what it holds, can be printed"
    )
    trace = f"array_reverse(debug_backtrace())[{level_from_outside}]"
    names = f"explode(',', {parameters(function.replace('->', '::'))})"
    return (
        "(static function ($frame, $at) { if ($at === false || !isset($frame['args'][$at])) "
        f"throw new \\ErrorException({why}); return $frame['args'][$at]; }})"
        f"({trace}, array_search({quote(name)}, {names}, true))"
    )


def global_(name: str) -> str:
    return f"$GLOBALS[{quote(name)}]"


def is_one_of(name: str, types: Sequence[str]) -> str:
    """Return an expression for whether a class is one of some types."""
    names = ", ".join(map(quote, types))
    return (
        f"(static function ($name, $types) {{ foreach ($types as $type) "
        f"if (is_a($name, $type, true)) return true; return false; }})({quote(name)}, [{names}])"
    )


def exists(function: str) -> str:
    """Return an expression for whether a function or method is loaded."""
    owner, _, method = function.rpartition("::")
    if owner:
        return (
            f"class_exists({quote(owner)}, false) && method_exists({quote(owner)}, {quote(method)})"
        )
    return f"function_exists({quote(function)})"


def is_internal(function: str) -> str:
    """Return an expression for whether a function is built into PHP."""
    return f"({_reflection(function)})->isInternal()"


def parameters(function: str) -> str:
    """Return an expression for the names of a function's parameters, separated by commas."""
    return f"implode(',', array_column(({_reflection(function)})->getParameters(), 'name'))"


def _reflection(function: str) -> str:
    owner, _, method = function.rpartition("::")
    if owner:
        return f"new \\ReflectionMethod({quote(owner)}, {quote(method)})"
    return f"new \\ReflectionFunction({quote(function)})"


_VARIABLES = re.compile(r"\$([A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)")


def variables_of(expression: str) -> list[str]:
    """Return the names of variables in an expression, each once; also those in strings."""
    return list(dict.fromkeys(_VARIABLES.findall(expression)))
