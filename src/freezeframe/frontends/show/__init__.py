"""`dbg show`: a live, read-only view of a session in the terminal.

main     the process: terminal, keys, events of the daemon
view     the state that is shown
screen   the state as lines of a terminal
"""
