"""Agents about compiled functions that gdb and LLDB share: both load these files.

control_flow_agent   where executions of a line begin, by the jumps of the function
initialization_agent the variables that are not initialised yet
return_layout_agent  the registers in which a function returns a value
"""

from __future__ import annotations

import os

CONTROL_FLOW_AGENT = os.path.join(os.path.dirname(__file__), "control_flow_agent.py")
INITIALIZATION_AGENT = os.path.join(os.path.dirname(__file__), "initialization_agent.py")
RETURN_LAYOUT_AGENT = os.path.join(os.path.dirname(__file__), "return_layout_agent.py")
#: in the order in which they are loaded
AGENTS = (CONTROL_FLOW_AGENT, INITIALIZATION_AGENT, RETURN_LAYOUT_AGENT)
