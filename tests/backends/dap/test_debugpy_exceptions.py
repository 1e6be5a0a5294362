"""Parse what debugpy reports about exceptions."""

from __future__ import annotations

from freezeframe.backends.dap.adapters.debugpy import exceptions

PYDEVD = "/v/site-packages/_pydevd_sys_monitoring/_pydevd_sys_monitoring_cython.pyx"
#: as 1.8.22 tells it on 3.13: the recursion was too deep for what looks on, too
TOO_DEEP = f"""\
  File "{PYDEVD}", line 610, in _get_func_code_info
KeyError: '/p/rec.py'

During handling of the above exception, another exception occurred:

  File "{PYDEVD}", line 612, in _get_func_code_info
  File "<stringsource>", line 69, in cfunc.wrap
  File "/p/rec.py", line 2, in dive
    return dive(n + 1)
  File "/p/rec.py", line 3, in <module>
    dive(0)
RecursionError: maximum recursion depth exceeded
"""


def test_a_recursion_that_ends_in_the_debugger_is_told_without_it():
    info = exceptions.read({"details": {"typeName": "RecursionError", "stackTrace": TOO_DEEP}})

    assert [(line.path, line.line) for line in info.traceback] == [
        ("/p/rec.py", 3),
        ("/p/rec.py", 2),
    ]
    assert info.causes == ()


def test_frames_of_the_debugger_are_none():
    assert exceptions.is_none({"name": "f", "source": {"path": PYDEVD}})
    assert exceptions.is_none({"name": "[Chained Exc: KeyError] f"})
    assert not exceptions.is_none({"name": "dive", "source": {"path": "/p/rec.py"}})
