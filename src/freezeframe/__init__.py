"""Freezeframe: the debugger that coding agents drive."""

__version__ = "0.1.0"
