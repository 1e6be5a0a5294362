"""The PHP that is evaluated in the program, as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

#: the one variable of ours, gone again after each evaluation
VARIABLE = "$__freezeframe"
#: variables that every function sees
EVERYWHERE = re.compile(r"\$(?:GLOBALS|_SERVER|_GET|_POST|_FILES|_COOKIE|_SESSION|_REQUEST|_ENV)")
#: what a statement without a value comes to, behind the nonce
DONE = "done"
#: A warning in the expression itself is its failure; in what it calls it stays a warning.
_STRICT = (
    "set_error_handler(static function ($number, $message, $file) {"
    ' if (substr($file, -13) === "eval()\'d code")'
    " throw new \\ErrorException($message, 0, $number);"
    " return false; }, E_WARNING | E_NOTICE);"
)
#: What takes too long is interrupted by the signal that otherwise holds the program.
_BOUNDED = (
    "if (function_exists('pcntl_signal')) pcntl_signal(SIGURG,"
    " static function () { throw new \\Exception('interrupted'); });"
)
_UNBOUNDED = "if (function_exists('pcntl_signal')) pcntl_signal(SIGURG, 'xdebug_break');"

#: A signal that nobody else wants holds the program at its next statement.
HOLDING = (
    "function_exists('pcntl_async_signals') && function_exists('pcntl_signal')"
    " && (pcntl_async_signals(true) || true) && pcntl_signal(SIGURG, 'xdebug_break')"
)


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def evaluation(expression: str, nonce: str, before: str = "", *, statement: bool = False) -> str:
    """Return an expression for a value, or for a text that begins with *nonce* and says why not.

    *before* are declarations that it stands below of.
    """
    whole = quote(f"{before} return {expression}\n;")
    inner = f"return eval({whole});"
    if statement:
        # What is no expression is run as it stands.
        body = quote(f"{before} {expression}\n;")
        inner = (
            f"try {{ {inner} }} catch (\\ParseError {VARIABLE}) "
            f"{{ unset({VARIABLE}); return eval({body}) ?? {quote(nonce + DONE)}; }}"
        )
    told = f"{quote(nonce)} . get_class({VARIABLE}) . ': ' . {VARIABLE}->getMessage()"
    code = (
        f"{_STRICT} {_BOUNDED} try {{ {inner} }} catch (\\Throwable {VARIABLE}) "
        f"{{ try {{ return {told}; }} finally {{ unset({VARIABLE}); }} }} "
        f"finally {{ restore_error_handler(); {_UNBOUNDED} }}"
    )
    return f"eval({quote(code)})"


def condition(expression: str, before: str = "") -> str:
    """Return an expression that is true also where *expression* cannot be evaluated."""
    inner = quote(f"{before} return {expression}\n;")
    code = (
        f"{_STRICT} try {{ return (bool) eval({inner}); }} catch (\\Throwable {VARIABLE}) "
        f"{{ unset({VARIABLE}); return true; }} finally {{ restore_error_handler(); }}"
    )
    return f"eval({quote(code)})"


def elsewhere(expression: str, variables: Mapping[str, str], this: str | None) -> str:
    """Return an expression with variables of its own; *this* is one for the object around it."""
    held = ", ".join(f"{quote(name)} => {value}" for name, value in variables.items())
    body = f"function () {{ extract([{held}]); return {expression}\n; }}"
    if this is None:
        return f"({body})()"
    return f"\\Closure::bind({body}, {this}, get_class({this}))()"


def object_of(level_from_outside: int) -> str:
    """Return an expression for `$this` of a frame, counted from the outermost function's."""
    trace = "debug_backtrace(DEBUG_BACKTRACE_PROVIDE_OBJECT | DEBUG_BACKTRACE_IGNORE_ARGS)"
    return f"array_reverse({trace})[{level_from_outside}]['object']"


def argument(level_from_outside: int, function: str, name: str) -> str:
    """Return an expression for an argument of a function that has called others since."""
    why = quote(
        f"${name} is no plain value, and Xdebug evaluates in the innermost frame only; "
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
    """Return an expression that tells whether a class is of one of some types."""
    words = ", ".join(map(quote, types))
    return (
        f"(static function ($name, $types) {{ foreach ($types as $type) "
        f"if (is_a($name, $type, true)) return true; return false; }})({quote(name)}, [{words}])"
    )


def exists(function: str) -> str:
    """Return an expression that tells whether a function or method is loaded."""
    owner, _, method = function.rpartition("::")
    if owner:
        return (
            f"class_exists({quote(owner)}, false) && method_exists({quote(owner)}, {quote(method)})"
        )
    return f"function_exists({quote(function)})"


def is_internal(function: str) -> str:
    """Return an expression that tells whether a function is one of PHP's own."""
    return f"({_reflection(function)})->isInternal()"


def parameters(function: str) -> str:
    """Return an expression for the names of a function's parameters, joined by commas."""
    return f"implode(',', array_column(({_reflection(function)})->getParameters(), 'name'))"


def _reflection(function: str) -> str:
    owner, _, method = function.rpartition("::")
    if owner:
        return f"new \\ReflectionMethod({quote(owner)}, {quote(method)})"
    return f"new \\ReflectionFunction({quote(function)})"


_VARIABLES = re.compile(r"\$([A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)")


def variables_of(expression: str) -> list[str]:
    """Return the names of variables in an expression, each once; more than it has, at times."""
    return list(dict.fromkeys(_VARIABLES.findall(expression)))
