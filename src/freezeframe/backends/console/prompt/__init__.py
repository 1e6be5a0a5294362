"""Debuggers with a prompt for people: what all of them share.

dialect   bytes in, answers out: prompt and sentinel; no I/O
spelling  what a debugger's own file says: how each operation is written and read back
ground    the debugger's process, the line to it, the program's own streams
marks     breakpoints: conditions, hit counts and logpoints where the debugger has none
motion    running, stepping, pausing, and what each stop comes down to
values    variables and what they hold, by expression
backend   all of it as a `Backend`
"""
