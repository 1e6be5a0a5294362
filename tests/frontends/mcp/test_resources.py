"""Resources, prompts and the skill, through the official SDK."""

from __future__ import annotations

import asyncio
import hashlib

import pytest
from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from frontends.mcp.talking import Raw, call, connected, on_loop


async def text_of(client, uri):
    return (await client.read_resource(uri)).contents[0].text


@on_loop
async def test_a_session_can_be_read_without_touching_it(dbg, program):
    p = program("loop.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="loop.py", breakpoints=[p.at("loop")])
        await call(client, "debug_command", command="breakpoint remove --all")
        await call(client, "debug_continue", timeout=0)
        uris = {str(each.uri) for each in (await client.list_resources()).resources}
        assert "freezeframe://session/loop/output" in uris
        await call(client, "debug_continue", mode="wait")
        first = await text_of(client, "freezeframe://session/loop/output")
        again = await text_of(client, "freezeframe://session/loop/output")
        assert first == again
        assert "adding" in first
        transcript = await text_of(client, "freezeframe://session/loop/transcript")
        assert f"stop  breakpoint at {p.at('loop')}" in transcript


@on_loop
async def test_the_source_at_the_stop_is_a_resource(dbg, program):
    p = program("loop.py")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="loop.py", breakpoints=[p.at("loop")])
        assert "total += amount" in await text_of(client, "freezeframe://session/loop/source")


@on_loop
async def test_what_is_not_there_is_refused_with_its_address(dbg):
    async with connected(dbg) as client:
        for uri in (
            "freezeframe://nothing",
            "freezeframe://session/nobody/output",
            "freezeframe://session/nobody/transcript",
            "freezeframe://session/x/nothing",
            "freezeframe://schema/nothing",
            "file:///etc/passwd",
        ):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.code == -32602, uri
            assert caught.value.data["uri"] == uri


@on_loop
async def test_the_skill_is_served_as_the_command_line_prints_it(dbg):
    async with connected(dbg) as client:
        served = await text_of(client, "freezeframe://skill")
    printed = await asyncio.to_thread(dbg, "skill")
    assert served == printed.out


@on_loop
async def test_names_of_sessions_and_operations_are_completed(dbg, program):
    program("loop.py")
    template = ResourceTemplateReference(
        type="ref/resource", uri="freezeframe://session/{session}/output"
    )
    schema = ResourceTemplateReference(type="ref/resource", uri="freezeframe://schema/{operation}")
    async with connected(dbg) as client:
        await call(client, "debug_start", program="loop.py", session="mine", stop_on_entry=True)
        found = await client.complete(template, {"name": "session", "value": "m"})
        assert found.completion.values == ["mine"]
        found = await client.complete(schema, {"name": "operation", "value": "breakpoint_a"})
        assert found.completion.values == ["breakpoint_add"]
        unknown = PromptReference(type="ref/prompt", name="nothing")
        with pytest.raises(MCPError, match="no prompt"):
            await client.complete(unknown, {"name": "x", "value": ""})


@on_loop
async def test_prompts_are_filled_and_say_what_they_need(dbg):
    async with connected(dbg) as client:
        names = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert {"how_to_debug", "diagnose_failing_test", "diagnose_crash", "diagnose_hang"} == names
        prompt = await client.get_prompt("diagnose_failing_test", {"test": "tests/test_x.py::y"})
        assert "tests/test_x.py::y" in prompt.messages[0].content.text
        with pytest.raises(MCPError, match="needs `program`"):
            await client.get_prompt("diagnose_crash", {})
        with pytest.raises(MCPError, match="no prompt"):
            await client.get_prompt("nothing", {})


def test_the_skill_is_served_by_the_skills_extension_with_its_digest(dbg):
    raw = Raw(dbg)
    raw.greet()

    def ask(id, method, **params):
        raw.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return raw.answer(id)

    [skill] = ask(1, "skills/list")["result"]["skills"]
    text = ask(2, "resources/read", uri=skill["uri"])["result"]["contents"][0]["text"]
    [file] = skill["resources"]
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert file == {"uri": skill["uri"], "digest": f"sha256:{digest}", "size": len(text.encode())}
    assert skill["frontmatter"]["metadata"]["version"] in text.split("---")[1]
    assert ask(3, "skills/get", uri=skill["uri"])["result"]["skill"] == skill
    assert ask(4, "skills/get", uri="skill://no/SKILL.md")["error"]["code"] == -32602
    for id, method in enumerate(("tools/list", "resources/list", "prompts/list", "skills/list"), 5):
        assert ask(id, method, cursor="3")["error"]["code"] == -32602, method
    raw.close()
