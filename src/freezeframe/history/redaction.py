"""Redact secrets by name or by shape.

Three rules. A name in `history.exclude` hides every value except trivial ones (`None`, an empty
string, a function). An ambiguous name (`token` may belong to a lexer, `pwd` may be a directory)
hides a text that looks like a secret. A known shape (`ghp_…`, a private key, a password in a URL)
is hidden everywhere. Every pattern is bounded, because the debugged program controls the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate

from freezeframe.model import late_regex

#: `'api_key': 'x'`, `password=…`, `secret: "…"` inside the text of a bigger value
_PAIR = late_regex.compile(
    r"""(?<![\w-])(?P<quote>['"]?)(?P<name>[A-Za-z_][\w-]{0,79})(?P=quote)"""
    r"""(?P<sign>\s{0,9}(?:=>|[:=])\s{0,9})"""
    r"""(?P<value>(?:[bru&]?"(?:[^"\\]|\\.)*"?)|(?:[bru]?'(?:[^'\\]|\\.)*'?)|[^,;(){}\[\]\s&'"]+)"""
)
#: an HTTP header inside a longer text: its value ends with the line
_HEADER = late_regex.compile(
    r"(?P<keep>(?:\b|(?<=\\n))(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token)['\"]?\s{0,9}:"
    r"\s{0,9}['\"]?)(?P<value>[^\r\n'\"\\,}\])]{1,4096})",
    re.IGNORECASE,
)
_URL = late_regex.compile(
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,15}://[^\s/:@'\"]{0,255}:)(?P<value>[^\s/@'\"]{1,255})(?=@)",
    re.IGNORECASE,
)
_SHAPES = late_regex.compile(
    "|".join(
        (
            r"gh[pousr]_[A-Za-z0-9]{20,255}",
            r"github_pat_\w{20,255}",
            r"glpat-[\w-]{20,255}",
            r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])",
            r"xox[abeprs]-[\w-]{10,255}",
            r"(?<![A-Za-z0-9])[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}",
            r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,255}",
            r"AIza[\w-]{35}",
            r"npm_[A-Za-z0-9]{36}",
            r"pypi-[\w-]{50,255}",
            r"(?<![\w-])eyJ[\w-]{10,4096}\.eyJ[\w-]{4,8192}\.[\w-]{0,4096}",
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
            r"(?:(?!-----END )[\s\S]){0,16384}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
            r"\b[Bb]earer\s{1,9}[\w.~+/=-]{8,4096}",
            r"\bBasic\s{1,9}(?=[A-Za-z+/]{0,99}[0-9=])[A-Za-z0-9+/]{8,4096}={0,2}",
        )
    )
)
#: every known shape contains one of these: a fast check that most texts fail
_HINTS = (
    *("gh", "glpat-", "AKIA", "ASIA", "xox", "k_", "sk-", "AIza", "npm_", "pypi-", "eyJ"),
    *("PRIVATE KEY", "earer", "Basic"),
)
#: ambiguous names: only a text that looks like a secret is hidden
_AMBIGUOUS = late_regex.compile(
    r"(?:.*[_-])?(?:tokens?|pwd|pass|auth|bearer|jwt|credentials?|creds?|authorization|cookies?"
    r"|session_?id|access_?key(?:_?id)?|signing_?key|encryption_?key)"
)
#: values that are shown whatever the name: empty ones, small numbers, code
_TRIVIAL = late_regex.compile(
    r"""\s*(?:None|null|nil|NULL|undefined|nullptr|-?\d{1,3}|true|false|True|False|[bru]?(?:''|""|``)|0x0|\[\]"""
    r"""|\{\}|\(\)|<(?:function|bound method|built-in|class|module|method)\b.*"""
    r"""|(?:function|async|class)\b.*|[ƒ]\s.*)\s*""",
    re.DOTALL,
)
_QUOTED = late_regex.compile(r"""[bru&]*(?P<quote>['"`])(?P<inner>[\s\S]*)(?P=quote)|[^\s<({\[]+""")
#: variables of every environment: a mapping with both of them is an environment
_ENVIRONMENT = (late_regex.compile(r"""['"]PATH['"]"""), late_regex.compile(r"""['"]HOME['"]"""))
_OPTION = late_regex.compile(r"--?(?P<name>[A-Za-z][\w-]{0,79})(?:=(?P<value>.*))?", re.DOTALL)

#: `--password=x`, or `'--password', 'x'` in the text of a list of arguments
_OPTION_INSIDE = late_regex.compile(
    r"""(?<![\w-])(?P<keep>--(?P<name>[A-Za-z][\w-]{0,79})(?:=|['"],\s{0,3}[bru]?['"]))"""
    r"""(?P<value>[^\s'",;)}\]-][^\s'",;)}\]]{0,4095})"""
)

_NAME_PARTS = late_regex.compile(r"[\w-]+")

_MAX_CACHED = 10_000


class Secrets:
    """The patterns of secret names, case-insensitive, and the known shapes.

    Without patterns nothing is hidden: recorded history is shown as it is.
    """

    PLACEHOLDER = "<not recorded>"

    def __init__(self, patterns: Iterable[str], placeholder: str = PLACEHOLDER) -> None:
        joined = "|".join(f"(?:{translate(pattern.lower())})" for pattern in patterns)
        self._names = re.compile(joined) if joined else None
        self.placeholder = placeholder
        #: cache by name: a program has few names, at thousands of stops
        self._cache: dict[str, bool] = {}

    def hides(self, name: str, text: str | None = None) -> bool:
        """Whether a variable, field or key of that name with that text is hidden."""
        if self._names is None:
            return False
        if text is not None and _TRIVIAL.fullmatch(text[:200]):
            return False
        bare = _last_name(name)
        known = self._cache.get(bare)
        if known is None:
            if len(self._cache) > _MAX_CACHED:
                self._cache.clear()
            known = bool(self._names.match(bare))
            self._cache[bare] = known
        if known or text is None:
            return known
        if _AMBIGUOUS.fullmatch(bare[:80]):
            return _looks_secret(text)
        return "PATH" in text and all(each.search(text) for each in _ENVIRONMENT)

    def redact(self, text: str) -> str:
        """Return *text* without values of secret names and without known shapes."""
        if self._names is None:
            return text
        if "=" in text or ":" in text:
            if "://" in text:
                text = _URL.sub(self._value, text)
            text = _HEADER.sub(self._value, text)
            text = _PAIR.sub(self._pair, text)
        if "--" in text:
            text = _OPTION_INSIDE.sub(self._option, text)
        return self.redact_shapes(text)

    def redact_shapes(self, text: str) -> str:
        """Return *text* without known shapes of secrets."""
        if self._names is None or len(text) < 12 or not any(hint in text for hint in _HINTS):
            return text
        return _SHAPES.sub(self.placeholder, text)

    def mask(self, text: str) -> str:
        """Return *text* with known shapes and passwords in URLs replaced by as many asterisks."""
        if self._names is None:
            return text
        if "://" in text:
            text = _URL.sub(lambda found: found["keep"] + "*" * len(found["value"]), text)
        if not any(hint in text for hint in _HINTS):
            return text
        return _SHAPES.sub(lambda found: "*" * len(found[0]), text)

    def redact_arguments(self, args: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments of a command line without secrets."""
        shown: list[str] = []
        hide_next = False
        for arg in args:
            option = _OPTION.fullmatch(arg)
            if hide_next and not arg.startswith("-"):
                shown.append(self.placeholder)
                hide_next = False
                continue
            hide_next = False
            if option is not None and self._names_secret(option["name"]):
                if option["value"] is not None:
                    arg = f"{arg[: len(arg) - len(option['value'])]}{self.placeholder}"
                else:
                    hide_next = True
            shown.append(self.redact(arg))
        return tuple(shown)

    def _names_secret(self, name: str) -> bool:
        bare = name.replace("-", "_").lower()
        return self.hides(bare) or (self._names is not None and bool(_AMBIGUOUS.fullmatch(bare)))

    def _option(self, found: re.Match[str]) -> str:
        is_secret = self._names_secret(found["name"]) and found["value"] not in self.placeholder
        return self._value(found) if is_secret else found[0]

    def _value(self, found: re.Match[str]) -> str:
        return f"{found['keep']}{self.placeholder}"

    def _pair(self, found: re.Match[str]) -> str:
        if self.placeholder in found["value"] or not self.hides(found["name"], found["value"]):
            return found[0]
        return f"{found['quote']}{found['name']}{found['quote']}{found['sign']}{self.placeholder}"


def _last_name(name: str) -> str:
    """Return the last name of `user.password`, `'password'` or `headers['Cookie']`, in lower case.

    The result of a call is not the secret itself: `len(password)` is not hidden.
    """
    found = _NAME_PARTS.findall(name[-200:])
    return found[-1].lower() if found and ")" not in name[-200:] else ""


def _looks_secret(text: str) -> bool:
    """Whether a text is one long word that is neither a path nor a plain word."""
    found = _QUOTED.fullmatch(text[:4096])
    if found is None:
        return False
    inner = found["inner"] if found["quote"] else text
    if len(inner) < 6 or inner.startswith(("/", "./", "~", "<")) or re.search(r"\s", inner[:64]):
        return bool(re.match(r"(?i)(?:bearer|basic)\s", inner))
    if not found["quote"] and inner.replace(".", "").lstrip("-").isdigit():
        return False
    return len(inner) >= 16 or bool(re.search(r"\d", inner) and re.search(r"[A-Za-z]", inner))
