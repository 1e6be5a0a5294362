"""MCP resources and prompts: parts of sessions, schemas, the skill.

A resource has an address under `freezeframe://`. Reading it has no effect: new output stays new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from freezeframe.errors import NotFound, UsageError
from freezeframe.frontends.daemon_client import DaemonClient
from freezeframe.ops._registry import OPS
from freezeframe.ops._skill import NAME, SKILL_FIELDS, skill_text

from .tools import full_schema

SCHEME = "freezeframe://"
SKILL = f"{SCHEME}skill"
#: the skill at the address that the skills extension gives it
SKILL_URI = f"skill://{NAME}/SKILL.md"

#: parts of a session: last part of the address → description
_PARTS = {
    "transcript": "What happened, in order",
    "output": "What the program printed",
    "source": "The source at the current location",
}


@dataclass(frozen=True, slots=True)
class Resource:
    uri: str
    name: str
    description: str
    mime: str = "text/plain"


TEMPLATES = (
    *(
        Resource(f"{SCHEME}session/{{session}}/{part}", f"session-{part}", what)
        for part, what in _PARTS.items()
    ),
    Resource(
        f"{SCHEME}schema/{{operation}}",
        "schema",
        "The whole JSON Schema of an operation's structured answer",
        "application/schema+json",
    ),
)


def address(session: str, part: str) -> str:
    """Return the address of a part of a session."""
    return f"{SCHEME}session/{quote(session, safe='')}/{part}"


def check(uri: str) -> None:
    """Raise NotFound for an address under `freezeframe://` that cannot exist."""
    if uri in (SKILL, SKILL_URI) or not uri.startswith(SCHEME):
        return
    kind, _, rest = uri.removeprefix(SCHEME).partition("/")
    if kind != "schema" and (kind != "session" or rest.rpartition("/")[2] not in _PARTS):
        raise NotFound(
            f"there is no resource {uri}; of a session there are {', '.join(_PARTS)}.",
            next="dbg sessions",
        )


async def current_resources(daemon: DaemonClient) -> list[Resource]:
    """Return the current resources: the skill, and the parts of each session of the workspace."""
    found = [
        Resource(SKILL, "skill", "How to debug with these tools", "text/markdown"),
        Resource(SKILL_URI, NAME, str(SKILL_FIELDS["description"]), "text/markdown"),
    ]
    answer = await daemon.call({"command": "sessions"})
    for session in answer["result"].get("sessions", []):
        name = session["name"]
        found += [
            Resource(address(name, part), f"{name} {part}", what) for part, what in _PARTS.items()
        ]
    return found


async def read(daemon: DaemonClient, uri: str) -> tuple[str, str]:
    """Return the text of a resource and its media type. Raises FreezeframeError."""
    if uri in (SKILL, SKILL_URI):
        return skill_text(), "text/markdown"
    kind, _, rest = uri.removeprefix(SCHEME).partition("/")
    if uri.startswith(SCHEME) and kind == "schema" and rest:
        try:
            return json.dumps(full_schema(unquote(rest)), indent=1), "application/schema+json"
        except UsageError as error:
            raise NotFound(error.message, next=error.next) from None
    session, _, part = rest.rpartition("/")
    if not uri.startswith(SCHEME) or kind != "session" or not session or part not in _PARTS:
        raise NotFound(f"there is no resource {uri}.", next="dbg sessions")
    return await _of_session(daemon, unquote(session), part), "text/plain"


async def of_template(daemon: DaemonClient, uri: str, argument: str) -> list[str]:
    """Return the possible values of a template's argument. Raises NotFound."""
    if not any(template.uri == uri for template in TEMPLATES):
        raise NotFound(f"there is no template {uri}.")
    if argument == "operation":
        return [spec.id for spec in OPS if not spec.hidden]
    if argument != "session":
        return []
    answer = await daemon.call({"command": "sessions"})
    return [session["name"] for session in answer["result"].get("sessions", [])]


async def _of_session(daemon: DaemonClient, session: str, part: str) -> str:
    if part == "transcript":
        answer = await daemon.call({"command": "events"})
        lines = [
            f"{event['kind']}  {event['text']}\n"
            for event in answer["result"].get("events", [])
            if event["session"] == session
        ]
        if not lines:  # raises NoSession for an unknown session
            await daemon.call({"command": "tool", "session": session})
        return "".join(lines)
    request: dict[str, Any] = {"command": "source", "args": {}, "session": session}
    if part == "output":
        request |= {"command": "output", "args": {"all": True, "peek": True}}
    answer = await daemon.call(request)
    return str(answer["text"])


# --- prompts ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    description: str
    #: argument → description; the first one is required
    arguments: dict[str, str]
    #: a template with `{name}` for each argument, or a function that returns the text
    text: str | Callable[[], str]

    def filled(self, given: Mapping[str, str]) -> str:
        """Return the prompt with the arguments *given*. Raises UsageError."""
        for needed in list(self.arguments)[:1]:
            if not given.get(needed):
                raise UsageError(f"{self.name} needs `{needed}`: {self.arguments[needed]}.")
        for name in given:
            if name not in self.arguments:
                raise UsageError(f"{self.name} has no argument `{name}`.")
        if not isinstance(self.text, str):
            return self.text()
        text = self.text
        for name in self.arguments:
            value = (given.get(name) or "").strip()
            # A missing argument is removed with the space before it.
            hole = f"{{{name}}}"
            text = text.replace(hole, value) if value else text.replace(f" {hole}", "")
        return text.strip()


_MANNERS = """
Let the debugger show facts before you change code: state what you expect at a line, stop there,
compare. Prefer one stop at the right line (with a condition) to many steps. State the cause with
the values that prove it, then the smallest change that fixes it, then run the test or program
again without the debugger. End with debug_stop."""

PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "how_to_debug",
            "Which tool to use when; `dbg X` is debug_command with command X",
            {},
            skill_text,
        ),
        Prompt(
            "diagnose_failing_test",
            "Find why a test fails",
            {"test": "the test, as its runner takes it", "symptom": "what it says"},
            "Find out why the test `{test}` fails. {symptom}\n\n"
            "1. Read the test and the code that it calls; name the value that is wrong.\n"
            "2. debug_start with the test runner as the program (Python: program=pytest, "
            'module=true, args=["-x", "-q", "{test}"]) and a breakpoint at the failing assertion '
            "or where the value is computed.\n"
            "3. debug_stack with locals, debug_evaluate; walk back to the first wrong value, with "
            "conditional breakpoints rather than steps." + _MANNERS,
        ),
        Prompt(
            "diagnose_crash",
            "Find why a program crashes",
            {"program": "the program", "args": "its arguments", "symptom": "what it says"},
            "Find out why `{program} {args}` crashes. {symptom}\n\n"
            "1. debug_start the program: uncaught exceptions, panics and fatal signals stop by "
            "themselves, at the line that failed, with its variables.\n"
            "2. debug_stack with locals: find the first frame of the user's code whose values are "
            "already wrong.\n"
            "3. Set a conditional breakpoint where that value is computed, run again with "
            "debug_command `restart`." + _MANNERS,
        ),
        Prompt(
            "diagnose_hang",
            "Find why a program hangs or is slow",
            {"program": "the program, or the pid of a process", "symptom": "what is seen"},
            "Find out why `{program}` hangs. {symptom}\n\n"
            "1. A running process: debug_attach with its pid and pause=true. Otherwise "
            "debug_start with timeout=5, then debug_continue with mode=pause. If the program "
            "cannot be stopped, the answer says where each thread waits.\n"
            "2. debug_stack with all_threads: which thread waits for which, or which loop does not "
            "end.\n"
            "3. A loop: debug_step out and over a few times, and see which value should change "
            "and does not. A lock: name the thread that holds it and what that thread waits for."
            + _MANNERS,
        ),
    )
}


def of_prompt(name: str, argument: str) -> list[str]:
    """Return the possible values of a prompt's argument: none are known. Raises NotFound."""
    if name not in PROMPTS:
        raise NotFound(f"there is no prompt {name}.")
    if argument not in PROMPTS[name].arguments:
        raise NotFound(f"{name} has no argument {argument}.")
    return []
