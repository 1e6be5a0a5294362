"""The MCP server: the daemon's operations as tools, with resources, prompts and notifications.

tools.py             the tools, generated from the registry of operations; no I/O
tool_texts.py        suggested commands as tool calls; no I/O
truncate.py          truncates structured answers to a budget; no I/O
resources.py         resources and prompts
conformance.py       tools of the conformance suite
skills.py            the skills extension: the skill with its digest
daemon_client.py     requests to the daemon, and their cancellation
event_watcher.py     follows the events of the sessions
notifications.py     sends them: subscriptions and log messages
errors.py            maps errors to MCP errors
server.py            requests and transports: stdio and HTTP
main.py              `dbg mcp`

Only notifications.py, conformance.py, skills.py, errors.py and server.py import the package `mcp`.
"""
