"""What a console debugger's file holds: data, how it is found, and how its backend is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from freezeframe.backends.backend import Backend
from freezeframe.config import AdapterConfig, Config


@dataclass(frozen=True, slots=True)
class Found:
    """An installed debugger."""

    path: str
    version: str | None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """Why it cannot be used."""

    reason: str


@dataclass(frozen=True, slots=True)
class Debugger:
    """One console debugger."""

    name: str
    languages: tuple[str, ...]
    #: file name patterns of programs it debugs, most telling first
    patterns: tuple[str, ...]
    #: words in a `#!` line that name its language
    shebangs: tuple[str, ...]
    #: commands that install it, to be shown
    install: tuple[str, ...]
    find: Callable[[Mapping[str, str], AdapterConfig], Found | Missing]
    make: Callable[[Found, Config], Backend]
    #: why the program at a path is one for it, by what the file holds; None when it is not
    claims: Callable[[str], str | None] = lambda program: None
    #: it starts `-m MODULE` targets
    modules: bool = False
    #: it joins programs by process id, debug servers by HOST:PORT, and reads core files
    joins: bool = False
    serves: bool = False
    cores: bool = False
    #: suffix and text of a program that `doctor` starts
    probe_program: tuple[str, str] | None = None
    #: sure of itself: it was run against the real thing in our tests
    tested: bool = True
