"""What all debuggers with an interactive prompt share.

codec        bytes in, answers out: prompt and sentinel; no I/O
command_set  what a debugger's file defines: the command of each operation, and how to parse its
answer
resources    the debugger's process, the connection to it, the program's streams
breakpoints  conditions, hit counts and logpoints where the debugger has none
execution    running, stepping, pausing, and deciding what each stop means
variables    scopes, values and their children, by expression
lifecycle    launch, attach, exit
backend      all of it as a `Backend`
"""
