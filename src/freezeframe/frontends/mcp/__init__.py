"""The MCP server: the operations of the daemon as tools, and what an agent reads besides.

tools.py      which tools there are, made of the table of operations; no I/O
shrink.py     structured answers that fit a budget; no I/O
documents.py  resources and prompts
bridge.py     requests to the daemon, their end when nobody waits any more
watching.py   what happens in the sessions, as it happens
telling.py    who is told of it: subscriptions and logs
refusals.py   errors of ours as errors of the protocol
server.py     requests and transports: stdio and HTTP
command.py    `dbg mcp`

The package `mcp` is known to telling.py, refusals.py and server.py alone.
"""
