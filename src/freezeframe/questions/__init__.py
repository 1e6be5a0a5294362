"""Questions about a run: why a value is what it is, what a call did, where two runs part.

They are answered from traces (`model/trace.py`), which a driver recorded: inside the program, or by
stepping. What reads a trace knows no debugger; what a language needs is one small file each.
"""
