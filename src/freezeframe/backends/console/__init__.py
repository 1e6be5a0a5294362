"""Debuggers that are spoken to through their prompt or a line protocol of their own.

reader    bytes in, records out; no I/O
backend   the process, the queue, the time limits and the end that all of them share
debuggers one debugger a file, with parts beside it where it needs them
"""
