"""The only place that starts debuggers and opens sockets to them.

process   start a program, watch it end, kill it with all its descendants
drain     read a descriptor without blocking: Reader (bytes), Drain (text), Tail (last words)
feeder    write a descriptor without blocking: a program's standard input
fifo      a named pipe that programs write into, with Drain's interface
streams   Stream: one interface over a process's stdio, TCP and unix sockets
tcp, unix dial and listen
pty       a terminal of its own for a program
tap       the wire log
"""
