# mypy: ignore-errors
"""Runs inside gdb: finds variables that are not initialised yet, and the true start of lines.

The rules are those of `machine_code`; here gdb reads the function for them.
"""

import json

import control_flow_agent as control_flow
import gdb
import initialization_agent as initialization

import __main__

#: types without implicit initialisation; C++ structs may have a constructor
_BARE = tuple(
    getattr(gdb, f"TYPE_CODE_{kind}") for kind in ("INT", "FLT", "PTR", "ENUM", "BOOL", "CHAR")
)
_STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
#: maximum bytes of a function to disassemble
_WIDE = 1 << 16
#: by the first and last address of a function; None if it cannot be read
_FLOWS = {}


def freezeframe_is_unset(symbol, frame, sal):
    """Whether the program has not yet reached the initialisation of a variable.

    Only for unoptimised code.
    """
    if symbol.is_argument or symbol.symtab is None or sal.symtab is None:
        return False
    if symbol.addr_class == gdb.SYMBOL_LOC_STATIC or symbol.symtab.filename != sal.symtab.filename:
        return False
    if not symbol.line or not __main__.freezeframe_is_plain(frame):
        return False
    kind = symbol.type.strip_typedefs()
    if kind.code in _STRUCTS and not kind.fields():
        return False  # nothing to initialise
    address = _address(symbol, frame)
    if address in initialization.assigned:
        return False
    if symbol.line > sal.line:
        return True
    function = _function(frame)
    flow = _flow(function) if function is not None else None
    if flow is None:
        return False
    while kind.code == gdb.TYPE_CODE_ARRAY:
        kind = kind.target().strip_typedefs()
    is_bare = kind.code in _BARE or (kind.code in _STRUCTS and frame.language() == "c")
    callee = frame.newer()
    is_call = callee is not None and frame.type() == callee.type() == gdb.NORMAL_FRAME
    position = initialization.Position(
        symbol.symtab.fullname(),
        sal.line,
        function.function.line,
        # The byte before a return address belongs to the call.
        frame.pc() - is_call,
        callee.name() if is_call else None,
    )
    variable = initialization.Variable(symbol.name, symbol.line, is_bare)
    return initialization.is_unset(variable, position, flow)


def _address(symbol, frame):
    # The usual case: nothing was assigned.
    if not initialization.assigned:
        return 0
    try:
        return int(symbol.value(frame).address or 0)
    except gdb.error:
        return 0


def _note_write(event):
    """Note the variable that the user has written to, as a whole or in part."""
    try:
        frame = gdb.selected_frame()
        block = frame.block()
    except (gdb.error, RuntimeError):
        return
    while block is not None and not block.is_global and not block.is_static:
        for symbol in block:
            if symbol.is_variable and not symbol.is_argument:
                _note_if_within(symbol, frame, event.address)
        block = block.superblock


def _note_if_within(symbol, frame, written):
    try:
        value = symbol.value(frame)
        start = int(value.address or 0)
    except gdb.error:
        return
    if start <= written < start + value.type.sizeof:
        initialization.assigned.add(start)


gdb.events.memory_changed.connect(_note_write)
gdb.events.exited.connect(lambda _event: initialization.assigned.clear())


def _function(frame):
    try:
        block = frame.block()
    except RuntimeError:
        return None  # no debug information
    return _function_of(block)


def _function_of(block):
    while block is not None and block.function is None:
        block = block.superblock
    return block


def _flow(function):
    key = function.start, function.end
    if key not in _FLOWS:
        if len(_FLOWS) > 100:
            _FLOWS.clear()
        _FLOWS[key] = _read_flow(function)
    return _FLOWS[key]


# A program that was built again has other code at the same addresses.
gdb.events.new_objfile.connect(lambda _event: _FLOWS.clear())


def _read_flow(function):
    if function.end - function.start > _WIDE:
        return None
    architecture = gdb.selected_inferior().architecture()
    try:
        listed = architecture.disassemble(function.start, function.end - 1)
    except gdb.MemoryError:
        return None
    file, sal, instructions, rows = function.function.symtab.filename, None, [], {}
    for each in listed[: control_flow.MOST_INSTRUCTIONS]:
        at, text = each["addr"], each["asm"]
        if sal is None or not sal.last or not sal.pc <= at <= sal.last:
            sal = gdb.find_pc_line(at)
        own = sal.symtab is not None and sal.symtab.filename == file
        line = sal.line or None if own else None
        rows[at] = sal.pc
        instructions.append(
            control_flow.Instruction(at, each["length"], text, line, at == sal.pc, text)
        )
    flow = control_flow.ControlFlow(instructions)
    # gdb does not show where a row ends and code without a line follows. In a row that begins with
    # unwinding code that is likely, unless the line has no other code.
    sure = {line for at, line in flow.lines.items() if rows[at] in flow.ordinary}
    for at, line in list(flow.lines.items()):
        if line in sure and rows[at] not in flow.ordinary:
            del flow.lines[at]
    return flow


def freezeframe_begins(*addresses):
    """Print the start of the line at some addresses; see `freezeframe_beginning`."""
    # gdb prints only complete lines before the command is done.
    gdb.write(f"{json.dumps(freezeframe_beginning(*addresses))}\n")


def freezeframe_beginning(*addresses):
    """Return the start of a line, and a gdb expression for it.

    *addresses* are gdb's locations of the line; None if one of them is right.
    """
    functions = [_function_of(gdb.block_for_pc(address)) for address in addresses]
    if None in functions or len({each.start for each in functions}) != 1:
        return None
    flow, sal = _flow(functions[0]), gdb.find_pc_line(addresses[0])
    if flow is None or any(gdb.find_pc_line(at).line != sal.line for at in addresses):
        return None
    if sal.symtab is None or sal.symtab.filename != functions[0].function.symtab.filename:
        return None
    text = "".join(control_flow.source_lines(sal.symtab.fullname(), sal.line, sal.line))
    starts = control_flow.starts(flow, sal.line, list(addresses), text)
    if len(starts) != 1 or starts == list(addresses):
        return None
    [at] = starts
    _Address.known.append((functions[0].function.linkage_name, at - functions[0].start))
    return at, f"*$freezeframe_place({len(_Address.known) - 1})"


class _Address(gdb.Function):
    """`$freezeframe_place(N)`: an address in a function, in any language, if relocated too."""

    known = []

    def __init__(self):
        super().__init__("freezeframe_place")

    def invoke(self, number):
        name, offset = self.known[int(number)]
        # Names of Rust and C++ functions are not expressions in those languages.
        with gdb.with_parameter("language", "c"):
            return int(gdb.parse_and_eval(f"(long)&'{name}'")) + offset


_Address()
