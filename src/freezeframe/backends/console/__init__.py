"""Debuggers that are driven through their prompt or a line protocol of their own.

command_channel  one debugger's process: commands in order, answers, time limits
base_backend     what every console backend shares: streams, exits, refusals
prompt           what all debuggers with a prompt share
debuggers        one file or package per debugger
"""
