"""Resolve shell command lines to the program they run. One file per kind of command.

`resolve` unwraps a line step by step (`npm test` → `jest` → a script under node) until a program is
left that a debugger can start. What a command runs first (a build, a `pretest`) is run.
"""
