"""Command lines as a shell takes them, and the program behind each. One file per kind of command.

`resolve` unwraps a line step by step (`npm test` → `jest` → a script under node) until what is left
is a program that a debugger starts. What a command prepares first (a build, a `pretest`) is run.
"""
