"""Secrets: values that are hidden by their name or by their shape.

Three rules. A name of `history.exclude` hides whatever is under it but what says nothing (`None`,
an empty text, a function). A doubtful name (`token` may be a lexer's, `pwd` a folder) hides a text
that looks like a secret. A known shape (`ghp_…`, a private key, a password in a URL) is hidden
wherever it stands. Every pattern is bounded, because programs choose the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate

#: `'api_key': 'x'`, `password=…`, `secret: "…"` inside the text of a bigger value
_PAIR = re.compile(
    r"""(?<![\w-])(?P<quote>['"]?)(?P<name>[A-Za-z_][\w-]{0,79})(?P=quote)"""
    r"""(?P<sign>\s{0,9}(?:=>|[:=])\s{0,9})"""
    r"""(?P<value>(?:[bru&]?"(?:[^"\\]|\\.)*"?)|(?:[bru]?'(?:[^'\\]|\\.)*'?)|[^,;(){}\[\]\s&'"]+)"""
)
#: a header of HTTP inside a longer text: its value goes on to the end of the line
_HEADER = re.compile(
    r"(?P<keep>(?:\b|(?<=\\n))(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token)['\"]?\s{0,9}:"
    r"\s{0,9}['\"]?)(?P<value>[^\r\n'\"\\,}\])]{1,4096})",
    re.IGNORECASE,
)
_URL = re.compile(
    r"(?P<keep>\b[a-z][a-z0-9+.-]{1,15}://[^\s/:@'\"]{0,255}:)(?P<value>[^\s/@'\"]{1,255})(?=@)",
    re.IGNORECASE,
)
_SHAPES = re.compile(
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
#: one of these is in every text that has a shape: most texts are done with after this look
_HINTS = (
    *("gh", "glpat-", "AKIA", "ASIA", "xox", "k_", "sk-", "AIza", "npm_", "pypi-", "eyJ"),
    *("PRIVATE KEY", "earer", "Basic"),
)
#: names that often hold something else: only a text that looks like a secret is hidden
_DOUBTFUL = re.compile(
    r"(?:.*[_-])?(?:tokens?|pwd|pass|auth|bearer|jwt|credentials?|creds?|authorization|cookies?"
    r"|session_?id|access_?key(?:_?id)?|signing_?key|encryption_?key)"
)
#: what is shown whatever its name: it says that there is nothing, or that it is code
_TELLS_NOTHING = re.compile(
    r"""\s*(?:None|null|nil|NULL|undefined|nullptr|-?\d{1,3}|true|false|True|False|[bru]?(?:''|""|``)|0x0|\[\]"""
    r"""|\{\}|\(\)|<(?:function|bound method|built-in|class|module|method)\b.*"""
    r"""|(?:function|async|class)\b.*|[ƒ]\s.*)\s*""",
    re.DOTALL,
)
_QUOTED = re.compile(r"""[bru&]*(?P<quote>['"`])(?P<inner>[\s\S]*)(?P=quote)|[^\s<({\[]+""")
#: variables that every environment has; a mapping with both of them is one
_ENVIRONMENT = (re.compile(r"""['"]PATH['"]"""), re.compile(r"""['"]HOME['"]"""))
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]{0,79})(?:=(?P<value>.*))?", re.DOTALL)

_WORDS = re.compile(r"[\w-]+")

_KNOWN = 10_000


class Secrets:
    """The patterns of names that are hidden, upper and lower case alike, and the known shapes.

    Without patterns nothing is hidden at all: history that was written is shown as it is.
    """

    WORD = "<not recorded>"

    def __init__(self, patterns: Iterable[str], word: str = WORD) -> None:
        joined = "|".join(f"(?:{translate(pattern.lower())})" for pattern in patterns)
        self._names = re.compile(joined) if joined else None
        self.word = word
        #: names that were asked about: a program has few of them, at thousands of stops
        self._known: dict[str, bool] = {}

    def hides(self, name: str, text: str | None = None) -> bool:
        """Whether a variable, field or key of that name, with that text, is to be hidden."""
        if self._names is None:
            return False
        if text is not None and _TELLS_NOTHING.fullmatch(text[:200]):
            return False
        bare = _last_name(name)
        known = self._known.get(bare)
        if known is None:
            if len(self._known) > _KNOWN:
                self._known.clear()
            known = bool(self._names.match(bare))
            self._known[bare] = known
        if known or text is None:
            return known
        if _DOUBTFUL.fullmatch(bare[:80]):
            return _looks_secret(text)
        return "PATH" in text and all(each.search(text) for each in _ENVIRONMENT)

    def cleared(self, text: str) -> str:
        """Return a text without what it shows under such names, and without known shapes."""
        if self._names is None:
            return text
        if "=" in text or ":" in text:
            if "://" in text:
                text = _URL.sub(self._value, text)
            text = _HEADER.sub(self._value, text)
            text = _PAIR.sub(self._pair, text)
        return self.without_shapes(text)

    def without_shapes(self, text: str) -> str:
        """Return a text without what is a secret by its shape alone."""
        if self._names is None or len(text) < 12 or not any(hint in text for hint in _HINTS):
            return text
        return _SHAPES.sub(self.word, text)

    def masked(self, text: str) -> str:
        """Return *text*, of the same length, with known shapes and passwords in URLs starred."""
        if self._names is None:
            return text
        if "://" in text:
            text = _URL.sub(lambda found: found["keep"] + "*" * len(found["value"]), text)
        if not any(hint in text for hint in _HINTS):
            return text
        return _SHAPES.sub(lambda found: "*" * len(found[0]), text)

    def arguments(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the words of a command line without the secrets among them."""
        shown: list[str] = []
        hide_next = False
        for word in words:
            option = _OPTION.fullmatch(word)
            if hide_next and not word.startswith("-"):
                shown.append(self.word)
                hide_next = False
                continue
            hide_next = False
            if option is not None and self._names_secret(option["name"]):
                if option["value"] is not None:
                    word = f"{word[: len(word) - len(option['value'])]}{self.word}"
                else:
                    hide_next = True
            shown.append(self.cleared(word))
        return tuple(shown)

    def _names_secret(self, name: str) -> bool:
        bare = name.replace("-", "_").lower()
        return self.hides(bare) or (self._names is not None and bool(_DOUBTFUL.fullmatch(bare)))

    def _value(self, found: re.Match[str]) -> str:
        return f"{found['keep']}{self.word}"

    def _pair(self, found: re.Match[str]) -> str:
        if self.word in found["value"] or not self.hides(found["name"], found["value"]):
            return found[0]
        return f"{found['quote']}{found['name']}{found['quote']}{found['sign']}{self.word}"


def _last_name(name: str) -> str:
    """Return what `user.password`, `'password'` and `headers['Cookie']` end in, in lower case.

    A call has a result of its own: `len(password)` is no secret.
    """
    found = _WORDS.findall(name[-200:])
    return found[-1].lower() if found and ")" not in name[-200:] else ""


def _looks_secret(text: str) -> bool:
    """Is that one word, long enough, and neither a path nor a plain word?"""
    found = _QUOTED.fullmatch(text[:4096])
    if found is None:
        return False
    inner = found["inner"] if found["quote"] else text
    if len(inner) < 6 or inner.startswith(("/", "./", "~", "<")) or re.search(r"\s", inner[:64]):
        return bool(re.match(r"(?i)(?:bearer|basic)\s", inner))
    if not found["quote"] and inner.replace(".", "").lstrip("-").isdigit():
        return False
    return len(inner) >= 16 or bool(re.search(r"\d", inner) and re.search(r"[A-Za-z]", inner))
