"""Answers for people and programs: text within a budget, colour on a terminal, JSON."""

from .budget import DEFAULT_TOKENS
from .json import envelope, error_envelope
from .styled_lines import PLAIN, TERMINAL, Style
from .text import render_error, render_text

__all__ = [
    "DEFAULT_TOKENS",
    "PLAIN",
    "TERMINAL",
    "Style",
    "envelope",
    "error_envelope",
    "render_error",
    "render_text",
]
