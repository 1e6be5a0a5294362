"""Runs inside GDB, beside its DAP server: says what that knows and does not tell, and adds what
it has no requests for.

Written against the server of GDB 16.3. What another version does not have is left as it is.
"""

import json
import re
from importlib import import_module
from typing import Any

import gdb  # type: ignore[import-untyped]

dap_breakpoint: Any = import_module("gdb.dap.breakpoint")
events: Any = import_module("gdb.dap.events")
frames: Any = import_module("gdb.dap.frames")
steps: Any = import_module("gdb.dap.next")
launch: Any = import_module("gdb.dap.launch")
# Not `gdb.dap.server`: that is the server that runs.
server: Any = import_module("gdb.dap.server")

# --- stops ----------------------------------------------------------------------------------------

#: the last stop's event; the step that is under way, and where it began; whether the process was
#: forked by another that is debugged, and whether the signal that stopped it then is still to come
_last: dict[str, Any] = {"stop": None, "step": None, "from": None, "forked": False, "held": False}


def _tell_more(body: dict[str, Any]) -> None:
    """Name the signal of a stop, and the filter of one that a catchpoint made."""
    event = _last["stop"]
    if isinstance(event, gdb.SignalEvent):
        details = getattr(event, "details", {})
        meaning = details.get("signal-meaning") if isinstance(details, dict) else None
        body["description"] = f"{event.stop_signal}: {meaning}" if meaning else event.stop_signal
        if event.stop_signal in ("SIGSEGV", "SIGBUS", "SIGFPE"):
            body["fault"] = _fault()
    caught = {bp.number: dict(key) for key, bp in _catchpoints()}
    for number in body.get("hitBreakpointIds", ()):
        if number in caught:
            body["reason"] = "exception"
            body["description"] = str(caught[number].get("filterId"))
            del body["hitBreakpointIds"]
            return


def _fault() -> list[int] | None:
    """Return the code of a fault, and the address."""
    try:
        info = gdb.parse_and_eval("$_siginfo")
        return [int(info["si_code"]), int(info["_sifields"]["_sigfault"]["si_addr"])]
    except gdb.error:
        return None


def _catchpoints() -> Any:
    return dap_breakpoint.breakpoint_map.get("exception", {}).items()


def _remembering(on_stop: Any) -> Any:
    def remember(event: Any) -> None:
        if _last["forked"] and isinstance(event, gdb.SignalEvent) and _is_ours(event.stop_signal):
            gdb.post_event(_go_on_without_it)
            return
        _last["stop"] = event
        step = _last["step"]
        if step is not None and _still_in_line(event):
            gdb.post_event(lambda: events.exec_and_expect_stop(step))
            return
        _last["step"] = None
        on_stop(event)

    return remember


def _is_ours(name: str) -> bool:
    """Whether a forked process was stopped for us, or its parent's terminal, ours, hung up."""
    if name == "SIGSTOP":
        held, _last["held"] = _last["held"], False
        return bool(held)
    return name == "SIGHUP" and int(gdb.parse_and_eval("$_siginfo.si_code")) == _BY_KERNEL


def _go_on_without_it() -> None:
    gdb.execute("queue-signal 0", to_string=True)
    events.exec_and_expect_stop("continue")


def _here() -> Any:
    """Return where the program stands: the line of its function's call, and the address."""
    frame = gdb.newest_frame()
    place = frame.find_sal()
    file = place.symtab.filename if place.symtab is not None else None
    return (frame.name(), int(gdb.parse_and_eval("$sp")), file, place.line), frame.pc()


def _still_in_line(event: Any) -> bool:
    """Whether a step has only come further in the line that it began in.

    GDB ends it where another stretch of the same line begins: behind Rust's overflow checks.
    """
    details = getattr(event, "details", None)
    if not isinstance(details, dict) or details.get("reason") != "end-stepping-range":
        return False
    line, address = _here()
    return bool(line == _last["from"][0] and address > _last["from"][1])


_OUTERMOST = "not meaningful in the outermost frame"


def _noting(execute: Any) -> Any:
    def note(command: str, *args: Any, **options: Any) -> None:
        if command in ("next", "step"):
            _last["step"], _last["from"] = command, _here()
        else:
            _last["step"] = None
        try:
            execute(command, *args, **options)
        except Exception as error:
            if _OUTERMOST not in str(error):
                raise
            # Out of `main` means: to the end of the program.
            execute("continue &", *args, **options)

    return note


steps.exec_and_expect_stop = _noting(steps.exec_and_expect_stop)


def _enriching(send: Any) -> Any:
    def enriched(event: str, body: Any = None) -> None:
        if event == "stopped":
            if body.get("reason") == "attach":
                # Joining a process leaves it standing. It goes on, as under other debuggers.
                gdb.post_event(lambda: events.exec_and_expect_stop("continue"))
                return
            _tell_more(body)
        send(event, body)

    return enriched


gdb.events.stop.disconnect(events._on_stop)
gdb.events.stop.connect(_remembering(events._on_stop))
for _name in ("send_event_maybe_later", "send_event"):
    if hasattr(events, _name):
        setattr(events, _name, _enriching(getattr(events, _name)))

# --- processes that the program forks -------------------------------------------------------------

#: the code of a signal that no process sent
_BY_KERNEL = 128


def _let_go() -> None:
    """Let go of new processes; those that stand then are told of: each gets a GDB of its own."""
    first, *others = gdb.inferiors()
    for new in others:
        pid = new.pid
        if pid and vars(import_module("__main__"))["freezeframe_let_go"](new.num):
            body = {"pid": pid, "program": first.progspace.filename}
            server.send_event("freezeframeForked", body)


def _hearing(heard: Any) -> Any:
    """Keep what happens to other processes from the server; it has no notion of them."""

    def hear(event: Any) -> None:
        inferior = getattr(event, "inferior", None) or event.inferior_thread.inferior
        if inferior.num == 1:
            if isinstance(event, gdb.ExitedEvent):
                _let_go()
            heard(event)
        else:
            # Not at once: GDB is in the middle of it.
            gdb.post_event(_let_go)

    return hear


def _going_along(heard: Any) -> Any:
    """Tell of the child instead of an end, where the parent was left for it."""

    def hear(event: Any) -> None:
        others = (each for each in gdb.inferiors() if each.num != event.inferior.num)
        child = next((each for each in others if each.pid), None)
        if child is None:
            heard(event)
            return
        body = {"name": child.progspace.filename or "", "systemProcessId": child.pid}
        server.send_event("process", {**body, "isLocalProcess": True, "startMethod": "attach"})

    return hear


def _behind(execute: Any) -> Any:
    """Let the program run in the background: in the foreground GDB refuses to go on after vfork."""
    return lambda command, *args: execute(f"{command.rstrip(' &')} &", *args)


if gdb.parameter("follow-fork-mode") == "child":
    gdb.events.exited.disconnect(events._on_exit)
    gdb.events.exited.connect(_going_along(events._on_exit))
if not gdb.parameter("detach-on-fork"):
    events.exec_and_log = _behind(events.exec_and_log)
    for _registry, _name in (
        (gdb.events.new_thread, "_new_thread"),
        (gdb.events.thread_exited, "_thread_exited"),
        (gdb.events.exited, "_on_exit"),
    ):
        _registry.disconnect(getattr(events, _name))
        _registry.connect(_hearing(getattr(events, _name)))

# --- leaving --------------------------------------------------------------------------------------


def _leaving(disconnect: Any) -> Any:
    """Leave a program that was started here running: with GDB it would end."""

    def left(*, terminateDebuggee: bool = False, **args: Any) -> Any:
        if not terminateDebuggee:
            server.send_gdb_with_response(_leave)
        return disconnect(terminateDebuggee=terminateDebuggee, **args)

    return left


def _leave() -> None:
    if gdb.selected_inferior().pid:
        gdb.execute("detach", to_string=True)


server._commands["disconnect"] = _leaving(server._commands["disconnect"])

# --- core files -----------------------------------------------------------------------------------


def _open_core(program: str | None, core: str) -> None:
    if program is not None:
        launch.file_command(program)
    quoted = core.replace("\\", "\\\\").replace('"', '\\"')
    gdb.execute(f'core-file "{quoted}"', from_tty=False, to_string=True)
    events.expect_process("attach")
    events.send_process_event_once()
    # Threads that appear are taken for a program that runs.
    events.inferior_running = False
    thread = gdb.selected_thread()
    body = {"threadId": thread.global_num, "allThreadsStopped": True, "reason": "signal"}
    try:
        number = int(gdb.parse_and_eval("$_siginfo.si_signo"))
        told = gdb.execute(f"info signals {number}", to_string=True).splitlines()[-1].split("\t")
        body["description"] = f"{told[0]}: {told[-1]}"
    except (gdb.error, IndexError, ValueError):
        body["reason"] = "entry"
    server.send_event("stopped", body)


def _joining(attach: Any) -> Any:
    def joined(*, coreFile: Any = None, program: Any = None, **args: Any) -> Any:
        _last["forked"] = _last["held"] = args.get("forked", False)
        if coreFile is None:
            return attach(program=program, **args)
        return launch._LaunchOrAttachDeferredRequest(
            lambda: server.send_gdb_with_response(lambda: _open_core(program, coreFile))
        )

    return joined


if hasattr(launch, "_LaunchOrAttachDeferredRequest"):
    server._commands["attach"] = _joining(server._commands["attach"])

# --- C++ exceptions -------------------------------------------------------------------------------

#: object and type of an exception, where the C++ library tells them and where it is told them
_THROWN = (("$_probe_arg0", "$_probe_arg1"), ("$rdi", "$rsi"), ("$x0", "$x1"), ("$a0", "$a1"))
#: types that keep what they say behind their virtual table
_SAYING = ("std::runtime_error", "std::logic_error")


def freezeframe_thrown() -> None:
    """Print the exception at hand: its type, those that it inherits from, and what it says."""
    gdb.newest_frame().select()
    for object, info in _THROWN:
        try:
            types = _types(_word(f"(unsigned long){info}"))
            if types:
                where = _word(f"(unsigned long){object}")
                print(json.dumps({"types": types, "message": _message(types, where)}))
                return
        except gdb.error:
            continue


def _word(expression: str) -> int:
    return int(gdb.parse_and_eval(expression))


def _symbol(address: int, before: str) -> str:
    """Return what stands behind some words in the name of what lies at an address."""
    told = gdb.execute(f"info symbol {address:#x}", to_string=True)
    found = re.match(rf"{before} (.*?)(?:@+[\w.]+)?(?: \+ \d+)? in section", told)
    return found[1] if found is not None else ""


def _types(first: int) -> list[str]:
    """Return the name of a type and of every one that it inherits from."""
    names: list[str] = []
    waiting = [first]
    while waiting:
        info = waiting.pop(0)
        name = _symbol(info, "typeinfo for")
        if not name or name in names:
            continue
        names.append(name)
        kind = _symbol(_word(f"*(unsigned long*){info:#x}"), "vtable for")
        if "__si_class" in kind:
            waiting.append(_word(f"*(unsigned long*){info + 16:#x}"))
        elif "__vmi_class" in kind:
            count = _word(f"*(unsigned int*){info + 20:#x}")
            waiting += [_word(f"*(unsigned long*){info + 24 + 16 * i:#x}") for i in range(count)]
    return names


def _message(types: list[str], where: int) -> str:
    ways = [f"*({types[0]}*){where:#x}"]
    if any(name in _SAYING for name in types):
        ways.insert(0, f"*(char**){where + 8:#x}")
    elif "std::exception" in types:
        # By its place in the table of virtual functions, behind two destructors.
        ways.insert(0, f"((char*(*)(void*))(*(void***){where:#x})[2])((void*){where:#x})")
    for way in ways:
        try:
            value = gdb.parse_and_eval(way)
            return value.string() if way.startswith(("*(char**)", "((char*")) else str(value)
        except gdb.error:
            continue
    return ""


# --- watchpoints ----------------------------------------------------------------------------------

_ACCESS = {
    "read": gdb.WP_READ,
    "write": gdb.WP_WRITE,
    "readWrite": gdb.WP_ACCESS,
}
_WORDS = {1: "char", 2: "short", 4: "int", 8: "long"}


def _watch(*, dataId: str, accessType: str = "write") -> Any:
    address, size = dataId.split("/")
    word = _WORDS.get(int(size))
    place = f"*({word} *) {address}" if word else f"*(char (*)[{size}]) {address}"
    with gdb.with_parameter("language", "c"):
        return gdb.Breakpoint(place, type=gdb.BP_WATCHPOINT, wp_class=_ACCESS[accessType])


def data_breakpoint_info(**args: Any) -> Any:
    name = args["name"]
    if args.get("frameId") is not None:
        frames.select_frame(args["frameId"])
    value = gdb.parse_and_eval(name)
    if value.address is None:
        return {"dataId": None, "description": "it has no address"}
    data = f"{int(value.address):#x}/{value.type.sizeof}"
    return {"dataId": data, "description": name, "accessTypes": list(_ACCESS)}


def set_data_breakpoints(**args: Any) -> Any:
    kept = ("dataId", "accessType", "condition", "hitCondition")
    specs = [{key: spec[key] for key in kept if key in spec} for spec in args["breakpoints"]]
    return {"breakpoints": dap_breakpoint._set_breakpoints_callback("data", specs, _watch)}


if "dataBreakpointInfo" not in server._commands:
    server.capability("supportsDataBreakpoints")(data_breakpoint_info)
    server.request("dataBreakpointInfo")(data_breakpoint_info)
    server.request("setDataBreakpoints")(set_data_breakpoints)

# --- functions by the end of their name -----------------------------------------------------------


def _whole_name(name: str) -> str:
    """Return the name of a function as GDB knows it: Rust's by their whole path only."""
    try:
        gdb.decode_line(name)
    except gdb.error:
        pattern = f"\\(^\\|::\\){re.escape(name)}\\(<.*>\\)\\?$"
        told = gdb.execute(f"info functions -q -n {pattern}", to_string=True)
        found = [re.match(r"\d+:\s+.*?([\w:<>]+)\(", line) for line in told.splitlines()]
        return next((match[1] for match in found if match is not None), name)
    return name


def _finding(rewrite: Any) -> Any:
    def found(**spec: Any) -> Any:
        rewritten = rewrite(**spec)
        rewritten["function"] = _whole_name(rewritten["function"])
        return rewritten

    return found


if hasattr(dap_breakpoint, "_rewrite_fn_breakpoint"):
    dap_breakpoint._rewrite_fn_breakpoint = _finding(dap_breakpoint._rewrite_fn_breakpoint)
