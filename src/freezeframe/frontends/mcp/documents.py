"""What an agent can read besides calling tools: resources about sessions, prompts, the skill.

A resource is an address under `freezeframe://`; reading it changes nothing, not even what counts
as new output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from freezeframe.errors import NotFound, UsageError
from freezeframe.frontends.skill import skill_text
from freezeframe.ops._registry import OPS

from .bridge import Bridge
from .tools import full_schema

SCHEME = "freezeframe://"
SKILL = f"{SCHEME}skill"

#: of a session: part of its address → what it is
_PARTS = {
    "transcript": "What happened, in order",
    "output": "What the program printed",
    "source": "The source where it stands",
}


@dataclass(frozen=True, slots=True)
class Document:
    uri: str
    name: str
    description: str
    mime: str = "text/plain"


TEMPLATES = (
    *(
        Document(f"{SCHEME}session/{{session}}/{part}", f"session-{part}", what)
        for part, what in _PARTS.items()
    ),
    Document(
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
    """Refuse an address of ours that nothing can have. Raises NotFound."""
    if uri == SKILL or not uri.startswith(SCHEME):
        return
    kind, _, rest = uri.removeprefix(SCHEME).partition("/")
    if kind != "schema" and (kind != "session" or rest.rpartition("/")[2] not in _PARTS):
        raise NotFound(
            f"there is no resource {uri}; of a session there are {', '.join(_PARTS)}.",
            next="dbg sessions",
        )


async def documents(bridge: Bridge) -> list[Document]:
    """Return what can be read now: the skill, and the parts of each session of the workspace."""
    found = [Document(SKILL, "skill", "How to debug with these tools", "text/markdown")]
    answer = await bridge.ask({"command": "sessions"})
    for session in answer["result"].get("sessions", []):
        name = session["name"]
        found += [
            Document(address(name, part), f"{name} {part}", what) for part, what in _PARTS.items()
        ]
    return found


async def read(bridge: Bridge, uri: str) -> tuple[str, str]:
    """Return the text of a resource and its media type. Raises FreezeframeError."""
    if uri == SKILL:
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
    return await _of_session(bridge, unquote(session), part), "text/plain"


async def of_template(bridge: Bridge, uri: str, argument: str) -> list[str]:
    """Return what can stand for an argument of a template. Raises NotFound."""
    if not any(template.uri == uri for template in TEMPLATES):
        raise NotFound(f"there is no template {uri}.")
    if argument == "operation":
        return [spec.id for spec in OPS if not spec.hidden]
    if argument != "session":
        return []
    answer = await bridge.ask({"command": "sessions"})
    return [session["name"] for session in answer["result"].get("sessions", [])]


async def _of_session(bridge: Bridge, session: str, part: str) -> str:
    if part == "transcript":
        answer = await bridge.ask({"command": "events"})
        lines = [
            f"{event['kind']}  {event['text']}\n"
            for event in answer["result"].get("events", [])
            if event["session"] == session
        ]
        if not lines:  # of an unknown session, which is told as everywhere
            await bridge.ask({"command": "tool", "session": session})
        return "".join(lines)
    request: dict[str, Any] = {"command": "source", "args": {}, "session": session}
    if part == "output":
        request |= {"command": "output", "args": {"all": True, "peek": True}}
    answer = await bridge.ask(request)
    return str(answer["text"])


# --- prompts ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    description: str
    #: argument → what it is; the first one is needed
    arguments: dict[str, str]
    #: `{name}` stands for an argument; a function makes what is not known beforehand
    text: str | Callable[[], str]

    def filled(self, given: Mapping[str, str]) -> str:
        """Return the prompt for *given*. Raises UsageError with the argument that is wrong."""
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
            words = (given.get(name) or "").strip()
            # An argument that is left out takes the space before it along.
            hole = f"{{{name}}}"
            text = text.replace(hole, words) if words else text.replace(f" {hole}", "")
        return text.strip()


_MANNERS = """
Let the debugger show facts before you change code: state what you expect at a place, stop there,
compare. Prefer one stop at the right place (with a condition) to many steps. Say the cause with
the values that prove it, then the smallest change that mends it, then run the test or program
again without the debugger. End with debug_stop."""

PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "how_to_debug",
            "What to use when; `dbg X` is debug_lldb_command with command X",
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
            "or where the value is made.\n"
            "3. debug_stack with locals, debug_evaluate; walk back to the first wrong value, with "
            "conditional breakpoints rather than steps." + _MANNERS,
        ),
        Prompt(
            "diagnose_crash",
            "Find why a program crashes",
            {"program": "the program", "args": "its arguments", "symptom": "what it says"},
            "Find out why `{program} {args}` crashes. {symptom}\n\n"
            "1. debug_start the program: uncaught exceptions, panics and fatal signals stop by "
            "themselves, at the place, with its variables.\n"
            "2. debug_stack with locals: find the first frame of the user's whose values are "
            "already wrong.\n"
            "3. Set a conditional breakpoint where that value is made, run again with "
            "debug_lldb_command `restart`." + _MANNERS,
        ),
        Prompt(
            "diagnose_hang",
            "Find why a program hangs or is slow",
            {"program": "the program, or the pid of a process", "symptom": "what is seen"},
            "Find out why `{program}` hangs. {symptom}\n\n"
            "1. A process that runs: debug_attach with its pid and pause=true. Otherwise "
            "debug_start with timeout=5, then debug_continue with mode=pause. When it cannot be "
            "stopped, the answer says where each thread waits.\n"
            "2. debug_stack with all_threads: who waits for whom, or which loop does not end.\n"
            "3. A loop: debug_step out and over a few times, and see which value should change "
            "and does not. A lock: name its holder and what that one waits for." + _MANNERS,
        ),
    )
}


def of_prompt(name: str, argument: str) -> list[str]:
    """Return what can stand for an argument of a prompt: nothing is known. Raises NotFound."""
    if name not in PROMPTS:
        raise NotFound(f"there is no prompt {name}.")
    if argument not in PROMPTS[name].arguments:
        raise NotFound(f"{name} has no argument {argument}.")
    return []
