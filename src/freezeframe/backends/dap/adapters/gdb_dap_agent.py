"""Runs inside GDB, next to its DAP server: reports what the server knows and does not send, and
adds what it has no requests for.

Written against the server of GDB 16.3. What another version lacks is skipped.
"""

import re
from importlib import import_module
from typing import Any

import gdb  # type: ignore[import-untyped]

dap_breakpoint: Any = import_module("gdb.dap.breakpoint")
events: Any = import_module("gdb.dap.events")
frames: Any = import_module("gdb.dap.frames")
steps: Any = import_module("gdb.dap.next")
launch: Any = import_module("gdb.dap.launch")
# Not `gdb.dap.server`: that name is the running server.
server: Any = import_module("gdb.dap.server")

# --- stops ----------------------------------------------------------------------------------------

#: the last stop's event; the current step, and where it began; whether the process was forked by
#: another debuggee, and whether the signal that stopped it then is still expected
_last: dict[str, Any] = {"stop": None, "step": None, "from": None, "forked": False, "held": False}
_last["hit"] = {}
#: how often GDB has counted each breakpoint
_counts: dict[int, int] = {}


def _add_details(body: dict[str, Any]) -> None:
    """Add the name of a stop's signal, or the exception filter of a catchpoint."""
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
    if isinstance(event, gdb.BreakpointEvent):
        failure = vars(import_module("__main__"))["freezeframe_failure"]
        conditions = [each.condition for each in event.breakpoints if each.condition]
        body["failed"] = next((why for why in map(failure, conditions) if why), None)
        watched = [number for number, watches in _last["hit"].items() if watches]
        if watched and not body["failed"]:
            body["reason"] = "data breakpoint"
            body["hitBreakpointIds"] = watched


#: the types of watchpoints
_WATCHPOINTS = (
    gdb.BP_WATCHPOINT,
    gdb.BP_HARDWARE_WATCHPOINT,
    gdb.BP_READ_WATCHPOINT,
    gdb.BP_ACCESS_WATCHPOINT,
)


def freezeframe_breakpoints_here() -> None:
    """Print the numbers of the breakpoints hit at the last stop, without its watchpoints."""
    print(*(number for number, watches in _last["hit"].items() if not watches))


def _newly_hit(event: Any) -> dict[int, bool]:
    """Return the numbers of what a stop hit, and whether each is a watchpoint.

    The event also lists breakpoints whose condition is false, and read watchpoints at a write: GDB
    counts neither.
    """
    here = getattr(event, "breakpoints", ())
    hit = [bp for bp in here if bp.hit_count != _counts.get(bp.number, 0)]
    _counts.update((bp.number, bp.hit_count) for bp in hit)
    return {bp.number: bp.type in _WATCHPOINTS for bp in hit}


def _fault() -> list[int] | None:
    """Return the code and the address of a fault."""
    try:
        info = gdb.parse_and_eval("$_siginfo")
        return [int(info["si_code"]), int(info["_sifields"]["_sigfault"]["si_addr"])]
    except gdb.error:
        return None


def _catchpoints() -> Any:
    return dap_breakpoint.breakpoint_map.get("exception", {}).items()


def _recording_stop(on_stop: Any) -> Any:
    def record(event: Any) -> None:
        if (
            _last["forked"]
            and isinstance(event, gdb.SignalEvent)
            and _is_internal_signal(event.stop_signal)
        ):
            gdb.post_event(_resume_without_signal)
            return
        _last["stop"], _last["hit"] = event, _newly_hit(event)
        step = _last["step"]
        if step is not None and _still_in_line(event):
            gdb.post_event(lambda: events.exec_and_expect_stop(step))
            return
        _last["step"] = None
        on_stop(event)

    return record


def _is_internal_signal(name: str) -> bool:
    """Return whether a forked process was stopped for the debugger, or got its parent terminal's
    hangup."""
    if name == "SIGSTOP":
        held, _last["held"] = _last["held"], False
        return bool(held)
    return name == "SIGHUP" and int(gdb.parse_and_eval("$_siginfo.si_code")) == _BY_KERNEL


def _resume_without_signal() -> None:
    gdb.execute("queue-signal 0", to_string=True)
    events.exec_and_expect_stop("continue")


def _position() -> Any:
    """Return the current position: function, stack pointer, file and line; and the address."""
    frame = gdb.newest_frame()
    line = frame.find_sal()
    file = line.symtab.filename if line.symtab is not None else None
    return (frame.name(), int(gdb.parse_and_eval("$sp")), file, line.line), frame.pc()


def _still_in_line(event: Any) -> bool:
    """Return whether a step only moved on within the line that it began in.

    GDB ends it where another address range of the same line begins: after Rust's overflow checks.
    """
    details = getattr(event, "details", None)
    if not isinstance(details, dict) or details.get("reason") != "end-stepping-range":
        return False
    line, address = _position()
    return bool(line == _last["from"][0] and address > _last["from"][1])


_OUTERMOST = "not meaningful in the outermost frame"


def _recording_step(execute: Any) -> Any:
    def record(command: str, *args: Any, **options: Any) -> None:
        if command in ("next", "step"):
            _last["step"], _last["from"] = command, _position()
        else:
            _last["step"] = None
        try:
            execute(command, *args, **options)
        except Exception as error:
            if _OUTERMOST not in str(error):
                raise
            # Stepping out of `main` means: run to the end of the program.
            execute("continue &", *args, **options)

    return record


steps.exec_and_expect_stop = _recording_step(steps.exec_and_expect_stop)


def _enriching(send: Any) -> Any:
    def enriched(event: str, body: Any = None) -> None:
        if event == "stopped":
            if body.get("reason") == "attach":
                # Attaching leaves the process stopped. Resume it, as other debuggers do.
                gdb.post_event(lambda: events.exec_and_expect_stop("continue"))
                return
            _add_details(body)
        send(event, body)

    return enriched


gdb.events.stop.disconnect(events._on_stop)
gdb.events.stop.connect(_recording_stop(events._on_stop))
for _name in ("send_event_maybe_later", "send_event"):
    if hasattr(events, _name):
        setattr(events, _name, _enriching(getattr(events, _name)))

# --- forked processes -----------------------------------------------------------------------------

#: the code of a signal that no process sent
_BY_KERNEL = 128


def _detach_children() -> None:
    """Detach from new processes, and report those that are stopped: each gets its own GDB."""
    first, *others = gdb.inferiors()
    for new in others:
        pid = new.pid
        if pid and vars(import_module("__main__"))["freezeframe_detach"](new.num):
            body = {"pid": pid, "program": first.progspace.filename}
            server.send_event("freezeframeForked", body)


def _filtering_events(handler: Any) -> Any:
    """Keep events of other processes from the server, which knows only one."""

    def on_event(event: Any) -> None:
        inferior = getattr(event, "inferior", None) or event.inferior_thread.inferior
        if inferior.num == 1:
            if isinstance(event, gdb.ExitedEvent):
                _detach_children()
            handler(event)
        else:
            # Not at once: GDB is in the middle of handling the event.
            gdb.post_event(_detach_children)

    return on_event


def _following_child(handler: Any) -> Any:
    """Report the child instead of an exit, where GDB detached from the parent to follow the
    child."""

    def on_event(event: Any) -> None:
        others = (each for each in gdb.inferiors() if each.num != event.inferior.num)
        child = next((each for each in others if each.pid), None)
        if child is None:
            handler(event)
            return
        body = {"name": child.progspace.filename or "", "systemProcessId": child.pid}
        server.send_event("process", {**body, "isLocalProcess": True, "startMethod": "attach"})

    return on_event


def _in_background(execute: Any) -> Any:
    """Run the program in the background: in the foreground GDB refuses to continue after vfork."""
    return lambda command, *args: execute(f"{command.rstrip(' &')} &", *args)


if gdb.parameter("follow-fork-mode") == "child":
    gdb.events.exited.disconnect(events._on_exit)
    gdb.events.exited.connect(_following_child(events._on_exit))
if not gdb.parameter("detach-on-fork"):
    events.exec_and_log = _in_background(events.exec_and_log)
    for _registry, _name in (
        (gdb.events.new_thread, "_new_thread"),
        (gdb.events.thread_exited, "_thread_exited"),
        (gdb.events.exited, "_on_exit"),
    ):
        _registry.disconnect(getattr(events, _name))
        _registry.connect(_filtering_events(getattr(events, _name)))

# --- detaching ------------------------------------------------------------------------------------


def _detaching(disconnect: Any) -> Any:
    """Leave a program that GDB launched running: it would end with GDB."""

    def wrapped_disconnect(*, terminateDebuggee: bool = False, **args: Any) -> Any:
        if not terminateDebuggee:
            server.send_gdb_with_response(_detach)
        return disconnect(terminateDebuggee=terminateDebuggee, **args)

    return wrapped_disconnect


def _detach() -> None:
    if gdb.selected_inferior().pid:
        gdb.execute("detach", to_string=True)


server._commands["disconnect"] = _detaching(server._commands["disconnect"])

# --- core files -----------------------------------------------------------------------------------


def _open_core(program: str | None, core: str) -> None:
    if program is not None:
        launch.file_command(program)
    quoted = core.replace("\\", "\\\\").replace('"', '\\"')
    gdb.execute(f'core-file "{quoted}"', from_tty=False, to_string=True)
    events.expect_process("attach")
    events.send_process_event_once()
    # Threads that appear are taken for a running program.
    events.inferior_running = False
    thread = gdb.selected_thread()
    body = {"threadId": thread.global_num, "allThreadsStopped": True, "reason": "signal"}
    try:
        number = int(gdb.parse_and_eval("$_siginfo.si_signo"))
        row = gdb.execute(f"info signals {number}", to_string=True).splitlines()[-1].split("\t")
        body["description"] = f"{row[0]}: {row[-1]}"
    except (gdb.error, IndexError, ValueError):
        body["reason"] = "entry"
    server.send_event("stopped", body)


def _opening_cores(attach: Any) -> Any:
    def wrapped_attach(*, coreFile: Any = None, program: Any = None, **args: Any) -> Any:
        _last["forked"] = _last["held"] = args.get("forked", False)
        if coreFile is None:
            return attach(program=program, **args)
        return launch._LaunchOrAttachDeferredRequest(
            lambda: server.send_gdb_with_response(lambda: _open_core(program, coreFile))
        )

    return wrapped_attach


if hasattr(launch, "_LaunchOrAttachDeferredRequest"):
    server._commands["attach"] = _opening_cores(server._commands["attach"])

# --- watchpoints ----------------------------------------------------------------------------------

_ACCESS = {
    "read": gdb.WP_READ,
    "write": gdb.WP_WRITE,
    "readWrite": gdb.WP_ACCESS,
}
_C_TYPES = {1: "char", 2: "short", 4: "int", 8: "long"}


def _watch(*, dataId: str, accessType: str = "write") -> Any:
    address, size = dataId.split("/")
    word = _C_TYPES.get(int(size))
    watched = f"*({word} *) {address}" if word else f"*(char (*)[{size}]) {address}"
    with gdb.with_parameter("language", "c"):
        return gdb.Breakpoint(watched, type=gdb.BP_WATCHPOINT, wp_class=_ACCESS[accessType])


def data_breakpoint_info(**args: Any) -> Any:
    name = args["name"]
    if args.get("frameId") is not None:
        frames.select_frame(args["frameId"])
    value = vars(import_module("__main__"))["freezeframe_evaluate"](name)
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

# --- functions by the last part of their name -----------------------------------------------------


def _whole_name(name: str) -> str:
    """Return the name of a function as GDB knows it: Rust functions only by their full path."""
    try:
        gdb.decode_line(name)
    except gdb.error:
        pattern = f"\\(^\\|::\\){re.escape(name)}\\(<.*>\\)\\?$"
        text = gdb.execute(f"info functions -q -n {pattern}", to_string=True)
        found = [re.match(r"\d+:\s+.*?([\w:<>]+)\(", line) for line in text.splitlines()]
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

# --- first address of a line ----------------------------------------------------------------------


def _beginning(create: Any) -> Any:
    """Set a breakpoint at the line's beginning, which need not be the lowest address of its
    code."""

    def created(**spec: Any) -> Any:
        made = create(**spec)
        locations: Any = made.locations if "line" in spec else ()
        addresses = [each.address for each in locations]
        if not all(addresses) or not addresses:
            return made
        begins = vars(import_module("__main__"))["freezeframe_beginning"](*addresses)
        if begins is None:
            return made
        others = {key: spec[key] for key in spec if key not in ("source", "line")}
        moved = create(spec=begins[1], **others)
        right = [each.address for each in moved.locations] == [begins[0]]
        (made if right else moved).delete()
        return moved if right else made

    return created


if hasattr(dap_breakpoint, "_set_one_breakpoint"):
    dap_breakpoint._set_one_breakpoint = _beginning(dap_breakpoint._set_one_breakpoint)
