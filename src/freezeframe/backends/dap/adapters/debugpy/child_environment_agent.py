"""Makes pydevd follow children that it does not see: those of a shell, of `env`, of a script.

pydevd adds itself to the command line of an interpreter. Where a program starts something else, or
an interpreter that reads its program from stdin, this agent adds a directory to that process's
environment where every Python finds `site_agent/sitecustomize.py`, which removes it again. The
program's own environment stays as it is. Loaded by `bootstrap_agent.py`; same rules.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_HERE = os.path.dirname(os.path.abspath(__file__))
_DIRECTORY = os.fsencode(os.path.join(_HERE, "site_agent"))
_PATH = b"PYTHONPATH"
_VARIABLE = b"FREEZEFRAME_PYTHON_CHILD"
#: index of the environment among the arguments of `_posixsubprocess.fork_exec` after the first
_FORK_EXEC_ENVIRONMENT = 4


def install(monkey: Any) -> None:
    """Make the functions that pydevd replaces, and `os.system`, pass our directory to children."""
    _skip_tracker(monkey)
    if sys.platform == "win32":
        return
    _exclude_scripts(monkey)
    replace = monkey.patch_new_process_functions
    for name, around in (
        ("create_execv", _around_exec),
        ("create_execve", _around_spawn),
        ("create_posix_spawn", _around_spawn),
        ("create_fork_exec", _around_fork_exec),
        ("create_subprocess_fork_exec", _around_fork_exec),
    ):
        setattr(monkey, name, _wrapping(monkey, getattr(monkey, name), around))

    def patch_new_process_functions() -> None:
        replace()
        monkey.monkey_patch_os("system", lambda original: _system(monkey, original))

    monkey.patch_new_process_functions = patch_new_process_functions


def _skip_tracker(monkey: Any) -> None:
    patch = monkey.patch_args

    def patch_args(args: Any, *others: Any, **named: Any) -> Any:
        return args if _is_tracker(args) else patch(args, *others, **named)

    monkey.patch_args = patch_args


def _is_tracker(args_text: Any) -> bool:
    """Return whether a process is multiprocessing's resource tracker, which is not the user's.

    Followed, it outlives the program by 0.7 s.
    """
    return any("multiprocessing.resource_tracker" in str(arg) for arg in args_text)


def _exclude_scripts(monkey: Any) -> None:
    """Treat `ipython` as a script, whose arguments are not an interpreter's."""
    is_python = monkey.is_python

    def is_interpreter(path: Any) -> bool:
        return bool(is_python(path)) and not _is_python_script(os.fsencode(path))

    monkey.is_python = is_interpreter


def _is_python_script(program: bytes) -> bool:
    directories = [b""] if b"/" in program else os.environb.get(b"PATH", b"").split(b":")
    for directory in directories:
        path = os.path.join(directory, program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            try:
                with open(path, "rb") as file:
                    head = file.read(256).split(b"\n", 1)[0]
            except OSError:
                return False
            return head.startswith(b"#!") and b"python" in head
    return False


def _wrapping(monkey: Any, create: Any, around: Any) -> Callable[[str], Any]:
    def create_both(original: str) -> Any:
        return around(monkey, create(original))

    return create_both


# --- functions that start processes -------------------------------------------------------------


def _around_exec(monkey: Any, call: Any) -> Any:
    def execv(path: Any, args: Any) -> Any:
        if not _needs(monkey, args):
            return call(path, args)
        return _with_environment(monkey, lambda: call(path, args))

    return execv


def _around_spawn(monkey: Any, call: Any) -> Any:
    def execve(path: Any, args: Any, env: Any, **named: Any) -> Any:
        if _needs(monkey, args):
            env = _added(monkey, os.environ if env is None else env) or env
        return call(path, args, env, **named)

    return execve


def _around_fork_exec(monkey: Any, call: Any) -> Any:
    def fork_exec(args: Any, *others: Any) -> Any:
        if _needs(monkey, args):
            given = others[_FORK_EXEC_ENVIRONMENT]
            env: Mapping[Any, Any] = os.environ
            if given is not None:
                env = dict(each.split(b"=", 1) for each in given)
            if (added := _added(monkey, env)) is not None:
                entries = [key + b"=" + value for key, value in added.items()]
                at = _FORK_EXEC_ENVIRONMENT
                others = (*others[:at], entries, *others[at + 1 :])
        return call(args, *others)

    return fork_exec


def _system(monkey: Any, original: str) -> Any:
    def system(command: Any) -> Any:
        call = getattr(os, original)
        if not monkey._get_apply_arg_patching():
            return call(command)
        return _with_environment(monkey, lambda: call(command))

    return system


def _with_environment(monkey: Any, call: Callable[[], Any]) -> Any:
    """Call a function that uses this process's environment, without a change in `os.environ`."""
    added = _added(monkey, os.environ)
    if added is None:
        return call()
    for name in (_PATH, _VARIABLE):
        os.putenv(name, added[name])
    try:
        return call()
    finally:
        for name in (_PATH, _VARIABLE):
            if name in os.environb:
                os.putenv(name, os.environb[name])
            else:
                os.unsetenv(name)


# --- the children's environment -----------------------------------------------------------------


def _needs(monkey: Any, args: Any) -> bool:
    """Return whether this may start a Python whose command line pydevd does not change."""
    try:
        if not args or not monkey._get_apply_arg_patching():
            return False
        args_text: Sequence[str] = [os.fsdecode(arg) for arg in args]
        name = os.path.basename(args_text[0])
        # Commands that show the environment and start nothing.
        if name == "printenv" or (name == "env" and len(args_text) == 1):
            return False
        if _is_tracker(args_text):
            return False
        if monkey.is_python(args_text[0]):
            led = any(arg.endswith("pydevd.py") for arg in args_text)
            return not led and monkey.patch_args(args_text) is args_text
        return True
    except Exception:
        return False  # the function itself will report what is wrong with it


def _added(monkey: Any, env: Mapping[Any, Any]) -> dict[bytes, bytes] | None:
    try:
        host, port = monkey._get_host_port()
        if port is None:
            return None
        setup = sys.modules["pydevd"].SetupHolder.setup
        code = monkey._get_python_c_args(host, port, "", [], setup)
        names = {os.fsencode(key): os.fsencode(value) for key, value in env.items()}
    except Exception:
        return None
    before = names.get(_PATH)
    kept = [each for each in (before or b"").split(b":") if each != _DIRECTORY] if before else []
    names[_PATH] = b":".join([_DIRECTORY, *kept])
    # An empty PYTHONPATH means the same as none to Python, but not to the program.
    empty = b"+" if before == b"" else b"-"
    names[_VARIABLE] = empty + f"{port} {code}".encode()
    return names
