"""The MCP server: the operations of the daemon as tools, and what an agent reads besides.

tools.py      which tools there are, made of the table of operations; no I/O
shrink.py     structured answers that fit a budget; no I/O
documents.py  resources and prompts
bridge.py     requests to the daemon, their end when nobody waits any more
server.py     the only file that knows the package `mcp`: stdio and HTTP
command.py    `dbg mcp`
"""
