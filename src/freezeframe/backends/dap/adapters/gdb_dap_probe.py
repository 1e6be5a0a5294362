"""Runs inside GDB, beside its DAP server: says what that knows and does not tell, and adds what
it has no requests for.

Written against the server of GDB 16.3. What another version does not have is left as it is.
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
# Not `gdb.dap.server`: that is the server that runs.
server: Any = import_module("gdb.dap.server")

# --- stops ----------------------------------------------------------------------------------------

#: the last stop's event; the step that is under way, and where it began
_last: dict[str, Any] = {"stop": None, "step": None, "from": None}


def _tell_more(body: dict[str, Any]) -> None:
    """Name the signal of a stop, and the filter of one that a catchpoint made."""
    event = _last["stop"]
    if isinstance(event, gdb.SignalEvent):
        details = getattr(event, "details", {})
        meaning = details.get("signal-meaning") if isinstance(details, dict) else None
        body["description"] = f"{event.stop_signal}: {meaning}" if meaning else event.stop_signal
    caught = {bp.number: dict(key) for key, bp in _catchpoints()}
    for number in body.get("hitBreakpointIds", ()):
        if number in caught:
            body["reason"] = "exception"
            body["description"] = str(caught[number].get("filterId"))
            del body["hitBreakpointIds"]
            return


def _catchpoints() -> Any:
    return dap_breakpoint.breakpoint_map.get("exception", {}).items()


def _remembering(on_stop: Any) -> Any:
    def remember(event: Any) -> None:
        _last["stop"] = event
        step = _last["step"]
        if step is not None and _still_in_line(event):
            gdb.post_event(lambda: events.exec_and_expect_stop(step))
            return
        _last["step"] = None
        on_stop(event)

    return remember


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


def _noting(execute: Any) -> Any:
    def note(command: str, *args: Any, **options: Any) -> None:
        if command in ("next", "step"):
            _last["step"], _last["from"] = command, _here()
        else:
            _last["step"] = None
        execute(command, *args, **options)

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
        if coreFile is None:
            return attach(program=program, **args)
        return launch._LaunchOrAttachDeferredRequest(
            lambda: server.send_gdb_with_response(lambda: _open_core(program, coreFile))
        )

    return joined


if hasattr(launch, "_LaunchOrAttachDeferredRequest"):
    server._commands["attach"] = _joining(server._commands["attach"])

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
