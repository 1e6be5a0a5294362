"""The only package that starts debuggers and opens sockets to them.

process    start a program, wait for its exit, kill it with all its descendants
fd_reader  read a descriptor without blocking: Reader (bytes), TextReader (text), Tail (the end)
fd_writer  write a descriptor without blocking: a program's standard input
fifo       a named pipe that programs write into, with TextReader's interface
streams    Stream: one interface over a process's stdio, TCP and unix sockets
tcp, unix  dial and listen
pty        a pseudo-terminal for a program
wire_log   the log of all messages exchanged with a debugger
"""
