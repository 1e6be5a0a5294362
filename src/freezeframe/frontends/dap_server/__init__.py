"""The Debug Adapter Protocol for editors: `dbg dap`.

A process of its own, a client of the daemon, that joins a session of an agent or starts one. Every
request becomes operations; what the agent does meanwhile becomes events.

main             options, standard streams or a port
connection       messages to and from one editor
editor           one editor: its requests, and the session that it has joined
launching        launch and attach
breakpoints      the breakpoints that the editor shows, beside those of others
inspection       threads, frames, variables, evaluation
machine          memory and instructions
followed_events  what happens in the session, as events of the protocol
capabilities     what can be requested of a session
"""
