"""What every debugger must do, in one vocabulary: stops, values, steps, exceptions, ends."""

from __future__ import annotations

import shlex

import pytest

from harness.reports import (
    bare,
    changed,
    frame_of,
    functions,
    own,
    place,
    printed,
    shown,
    texts,
    values,
)

# --- stops --------------------------------------------------------------------------------------


def test_a_program_is_followed_from_its_first_stop_to_its_end(dbg, sample, debugger):
    p = sample("loop")

    # start answers with the whole picture of the first stop
    report = dbg.data("start", p.name, "-b", p.at("loop"))
    assert report["state"] == "stopped"
    assert report["stop"]["reason"] == "breakpoint"
    assert report["stop"]["breakpoints"] == [1]
    assert place(report) == p.at("loop")
    assert bare(frame_of(report)["function"]) == "total_of"
    seen = texts(report)
    assert (seen["number"], seen["amount"], seen["total"]) == ("0", "6", "0")
    [current] = [line for line in report["source"]["lines"] if line["current"]]
    assert current["number"] == p.line("loop")
    assert debugger.says("total += amount") in current["text"]
    assert len(report["source"]["lines"]) == 7
    assert printed(report) == "adding\n"
    assert report["pid"] > 0
    assert printed(dbg.data("output")) == "", "output is reported once"

    # continue answers with the next stop and marks what changed
    for expression in ("total", "total + amount", "no_such_name"):
        dbg.data("display", debugger.says(expression))
    report = dbg.data("continue")
    plain, computed, wrong = report["displays"]
    assert (plain["value"]["text"], plain["value"]["was"]) == ("6", "0")
    assert (computed["value"]["text"], computed["value"]["was"]) == ("11", "6")
    assert wrong["error"]
    assert place(report) == p.at("loop")
    value = values(report)["total"]
    assert (value["text"], value["was"], value["changed"]) == ("6", "0", True)
    assert {"number", "amount", "total"} <= changed(report)

    # a removed breakpoint does not stop, and the end has exit code and output
    answer = dbg.data("breakpoint", "remove", 1)
    assert [each["id"] for each in answer["removed"]] == [1]
    assert answer["breakpoints"] == []
    ended = dbg.data("continue")
    assert ended["state"] == "terminated"
    assert ended["exit"]["code"] == 3
    assert "total 19" in printed(ended)
    assert printed(dbg.data("output")) == ""
    assert printed(dbg.data("output", "--all"), "stdout") == "adding\ntotal 19\n"


def test_a_program_without_a_stop_runs_to_its_end_in_one_call(dbg, sample):
    p = sample("loop")

    report = dbg.data("start", p.name, code=0)

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 3
    assert printed(report, "stdout") == "adding\ntotal 19\n"
    assert printed(report, "stderr") == "done\n"


def test_stop_on_entry_stops_before_anything_is_printed(dbg, sample):
    p = sample("loop")

    report = dbg.data("start", p.name, "--stop-on-entry")

    assert report["state"] == "stopped"
    assert report["stop"]["reason"] == "entry"
    assert printed(report) == ""


# --- breakpoints --------------------------------------------------------------------------------


def test_breakpoints_of_before_the_start_are_bound_by_it_and_by_a_restart(dbg, sample):
    p = sample("loop")
    added = dbg.data("break", p.at("loop"))
    assert added["breakpoint"]["state"] == "wanted"
    dbg.data("break", p.at("last"))
    dbg.data("breakpoint", "disable", 1)

    first = dbg.data("start", p.name)

    assert place(first) == p.at("last"), "a disabled breakpoint does not stop"
    bound = dbg.data("breakpoint", "list")["breakpoints"][1]
    assert (bound["id"], bound["state"], bound["line"]) == (2, "bound", p.line("last"))
    dbg.data("breakpoint", "enable", 1)
    again = dbg.data("restart")
    assert place(again) == p.at("loop")
    assert texts(again)["number"] == "0"
    assert again["pid"] != first["pid"]
    assert not changed(again)
    bound = dbg.data("breakpoint", "list")["breakpoints"][0]
    assert (bound["state"], bound["line"]) == ("bound", p.line("loop"))
    assert bound["id"] == added["breakpoint"]["id"]


def test_conditions_and_hit_counts_stop_at_the_passes_they_name(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("break", p.at("done"), "--hit-count", "2")
    dbg.data("break", p.at("callee"), "-c", debugger.says("price >= 4"), "--hit-count", "2")
    dbg.data("break", p.at("loop"), "-c", debugger.says("number == 9"))

    counted = dbg.data("start", p.name)
    assert (place(counted), texts(counted)["number"]) == (p.at("done"), "1")
    edited = dbg.data("condition", 3, debugger.says("number == 2"))
    assert edited["breakpoint"]["condition"] == debugger.says("number == 2")
    both = dbg.data("continue")
    assert (place(both), texts(both)["price"]) == (p.at("callee"), "4")
    held = dbg.data("continue")
    assert (place(held), texts(held)["number"]) == (p.at("loop"), "2")
    dbg.data("condition", 3, debugger.says("number == 9"))
    ended = dbg.data("continue")
    assert ended["state"] == "terminated"
    assert [note for note in ended["notes"] if "breakpoint 3" in note and "was changed" in note]


def test_a_logpoint_prints_and_does_not_stop(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("break", p.at("loop"), "--log", f"total is {{{debugger.says('total')}}}")
    dbg.data("break", p.at("done"), "--log", "every {{second}", "--hit-count", "%2")
    dbg.data("break", p.at("last"), "--log", f"{{{{total}} is {{{debugger.says('total')}}}")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    lines = ["total is 0", "total is 6", "every {second}", "total is 11", "{total} is 19"]
    assert printed(report, "log") == "".join(f"{line}\n" for line in lines)


def test_of_two_breakpoints_on_a_line_the_one_that_holds_is_named(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("break", p.at("loop"), "-c", debugger.says("number == 2"))
    dbg.data("break", p.at("loop"), "-c", debugger.says("number == 1"), "--temporary")

    first = dbg.data("start", p.name)
    second = dbg.data("continue")

    assert (first["stop"]["breakpoints"], texts(first)["number"]) == ([2], "1")
    assert (second["stop"]["breakpoints"], texts(second)["number"]) == ([1], "2")


def test_a_logpoint_and_a_breakpoint_may_share_a_line(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("break", p.at("loop"), "-c", debugger.says("number == 1"))
    dbg.data("break", p.at("loop"), "--log", f"at {{{debugger.says('number')}}}")

    report = dbg.data("start", p.name)

    assert report["stop"]["breakpoints"] == [1]
    assert printed(report, "log") == "at 0\nat 1\n"
    assert dbg.data("continue")["state"] == "terminated"
    assert printed(dbg.data("output", "--all"), "log") == "at 0\nat 1\nat 2\n"


def test_a_function_can_be_broken_at_and_a_temporary_breakpoint_stops_once(dbg, sample):
    p = sample("loop")
    dbg.data("break", "line_amount")
    dbg.data("break", p.at("loop"), "--temporary")

    report = dbg.data("start", p.name)

    assert bare(frame_of(report)["function"]) == "line_amount"
    assert texts(report)["price"] == "2"
    assert place(dbg.data("continue")) == p.at("loop")
    assert [each["id"] for each in dbg.data("breakpoint", "list")["breakpoints"]] == [1]
    for price in ("5", "4"):
        assert texts(dbg.data("continue"))["price"] == price
    assert dbg.data("continue")["state"] == "terminated"


def test_a_breakpoint_that_is_not_there_cannot_be_removed(dbg, sample):
    assert dbg.error("breakpoint", "remove", 7, code=1)["code"] == "not-found"


# --- execution ----------------------------------------------------------------------------------


def test_next_steps_over_a_call(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("call"))

    report = dbg.data("next")

    assert report["stop"]["reason"] == "step"
    assert place(report) == p.at("loop")


def test_next_steps_over_a_call_of_the_same_function(dbg, sample, debugger):
    p = sample("recursion")
    dbg.data("start", p.name, "-b", f"{p.source.name}:{p.line('up') - 1}")
    dbg.data("breakpoint", "remove", "--all")

    report = dbg.data("next")

    if debugger.stacked:
        assert place(report) == p.at("up")
        assert texts(report)["depth"] == "9"


def test_step_goes_into_a_call_and_finish_comes_back_with_its_value(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("call"))

    inside = dbg.data("step")
    assert place(inside) == p.at(debugger.entered)
    assert (texts(inside)["price"], texts(inside)["count"]) == ("2", "3")

    if "finish" in debugger.refuses:
        assert dbg.error("finish")["code"] == "unsupported"
        return
    outside = dbg.data("finish")
    assert bare(frame_of(outside)["function"]) == "total_of"
    assert frame_of(outside)["line"] in (p.line("call"), p.line("loop"))
    assert bool(outside["returned"]) is debugger.returns
    if outside["returned"]:
        assert outside["returned"]["text"] == "6"


def test_several_steps_in_one_call_leave_a_trail(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("call"))

    report = dbg.data("next", "--count", 3)

    # The lines that were run; what the last one did is the stop's own to show.
    assert [step["line"] for step in report["trail"]][:2] == [p.line("call"), p.line("loop")]
    assert (len(report["trail"]), report["trail"][-1]["changed"]) == (3, [])
    assert frame_of(report)["line"] not in (p.line("loop"), p.line("done"))


def test_a_step_over_the_last_line_ends_the_program(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("end"))

    report = dbg.data("next", "--count", 5)

    assert report["state"] == "terminated", report
    assert report["exit"]["code"] == 3
    assert all(step["place"].startswith(str(p.source)) for step in report["trail"]), report["trail"]


def test_steps_that_meet_a_breakpoint_end_there(dbg, sample, debugger):
    p = sample("loop")
    if not debugger.meets:
        dbg.data("start", p.name, "-b", p.at("call"), "-b", p.at("done"))
        report = dbg.data("next", "--count", 2)
        assert report["stop"]["reason"] == "breakpoint"
        assert place(report) == p.at("done")
        return
    dbg.data("start", p.name, "-b", p.at("call"), "-b", p.at("callee"))

    report = dbg.data("next", "--count", 10)

    assert report["stop"]["reason"] == "breakpoint"
    assert place(report) == p.at("callee")

    # The step is over with that: it does not come to its end by itself later on.
    dbg.data("breakpoint", "remove", "--all")
    assert dbg.data("continue")["state"] == "terminated"


def test_steps_go_on_over_a_breakpoint_on_their_own_way(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))

    report = dbg.data("next", "--count", 4)

    assert len(report["trail"]) == 4


def test_jump_goes_on_elsewhere_or_is_refused(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))
    if any(command.startswith("jump") for command in debugger.refuses):
        assert dbg.error("jump", p.at("last"))["code"] == "unsupported"
        return

    report = dbg.data("jump", p.at("last"))

    assert place(report) == p.at("last")
    assert texts(report)["total"] == "0"


def test_a_function_is_run_again_and_made_to_return_at_once(dbg, sample, debugger):
    returns = "return 1" not in debugger.refuses
    restarts = "restart-frame" not in debugger.refuses
    if not (returns or restarts):
        return  # that it is refused is tried with all that is
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("return"))
    dbg.data("breakpoint", "remove", "--all")
    if restarts:
        report = dbg.data("restart-frame")
        assert place(report) == p.at("callee")
        assert (texts(report)["price"], texts(report)["count"]) == ("2", "3")
    if returns:
        error = dbg.error("return", "no_such_name")
        assert error["code"] == "bad-return"
        assert "no_such_name" in error["message"]
        report = dbg.data("return", "price + 100")
        assert bare(frame_of(report)["function"]) == "total_of"
        assert texts(dbg.data("next"))["amount"] == "102"
    assert dbg.data("continue")["exit"]["code"] == (4 if returns else 3)


# --- seeing -------------------------------------------------------------------------------------


def test_the_stack_is_shown_and_each_frame_looked_into(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("first"))

    # a breakpoint added while the program is stopped is hit
    added = dbg.data("break", p.at("callee"))
    assert added["breakpoint"]["state"] == "bound"
    assert place(dbg.data("continue")) == p.at("callee")

    # expressions are evaluated in the frame; one that fails is an error with the language's message
    assert dbg.data("print", debugger.says("price * 10 + count"))["value"]["text"] == "23"
    assert dbg.data("eval", debugger.says("price + 1"))["value"]["text"] == "3"
    dbg.error("raw", "nosuchcommand")  # which ends neither the program nor the session
    error = dbg.error("print", debugger.says("no_such_name"), code=1)
    assert error["code"] == "evaluation"
    assert debugger.complaint in error["message"]

    # the backtrace shows which function called which, and frames are selected
    [stack] = dbg.data("backtrace")["stacks"]
    if debugger.stacked:
        number = debugger.says("number")
        assert dbg.data("print", number, "--frame", 1)["value"]["text"] == "0"
        assert texts(dbg.data("locals", "--frame", "total_of"))["total"] == "0"
    caller = dbg.data("up")
    if debugger.stacked:
        assert functions(stack)[:3] == ["line_amount", "total_of", "main"]
        lines = [frame["line"] for frame in stack["frames"][:3]]
        assert lines == [p.line("callee"), p.line("call"), p.line("main")]
        assert bare(caller["frame"]["function"]) == "total_of"
        assert texts(caller)["total"] == "0"
        assert dbg.data("print", debugger.says("number"))["value"]["text"] == "0"
        assert bare(dbg.data("frame", 2)["frame"]["function"]) == "main"
        assert bare(dbg.data("down")["frame"]["function"]) == "total_of"
    else:
        assert functions(stack) == ["line_amount"]
        assert bare(caller["frame"]["function"]) == "line_amount"

    # a step selects the innermost frame again
    dbg.data("next")
    assert bare(dbg.data("locals")["frame"]["function"]) == "line_amount"


def test_a_backtrace_can_be_limited_and_says_so(dbg, sample, debugger):
    p = sample("recursion")
    dbg.data("start", p.name, "-b", p.at("bottom"))

    [whole] = dbg.data("backtrace")["stacks"]
    if not debugger.stacked:
        assert functions(whole) == ["down"]
        return
    [part] = dbg.data("backtrace", "--limit", 4)["stacks"]

    assert functions(whole).count("down") == 10
    assert len(part["frames"]) == 4
    assert part["more"] is None or part["more"] >= 6


def test_arguments_and_locals_are_told_apart(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("return"))

    assert set(texts(dbg.data("args"))) == {"price", "count"}
    assert texts(dbg.data("locals"))["amount"] == "6"


def test_until_runs_to_a_place_where_a_variable_can_be_set(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("first"))
    assert place(dbg.data("until", p.at("last"))) == p.at("last")
    assert len(dbg.data("breakpoint", "list")["breakpoints"]) == 1, "until leaves none"
    if any(command.startswith("set ") for command in debugger.refuses):
        assert dbg.error("set", debugger.says("total"), "100")["code"] == "unsupported"
        return

    if "set total 100" in debugger.refuses:
        assert dbg.error("set", "total", "100")["code"] == "unsupported"
        return
    misspelt = debugger.says("toatl")
    assert dbg.error("set", misspelt, "1", code=1)["code"] == "evaluation"
    assert "toatl" not in texts(dbg.data("locals")), "a name is made by the program alone"
    answer = dbg.data("set", debugger.says("total"), "100")

    assert answer["value"]["text"] == "100"
    for look in ("context", "locals"):
        assert texts(dbg.data(look))["total"] == "100", look
    assert "total" not in changed(dbg.data("context")), "the program did not do it"
    report = dbg.data("continue")
    assert "total 100" in printed(report)
    assert report["exit"]["code"] == 4


# --- exceptions ---------------------------------------------------------------------------------


def test_a_program_that_fails_stops_at_the_failure(dbg, sample, debugger):
    p, failure = sample("uncaught"), debugger.failure
    dbg.data("catch", "off")
    dbg.data("catch", "default")  # what was switched off comes back

    report = dbg.data("start", p.name)

    stop = report["stop"]
    assert stop["reason"] == failure.reason
    assert shown(report) == p.at("uncaught")
    if failure.type:
        assert stop["exception"]["type"].endswith(failure.type)
        assert failure.message in stop["exception"]["message"]
    if failure.reason == "signal":
        assert failure.exit_signal in stop["description"]
    [stack] = dbg.data("backtrace")["stacks"]
    led = [p.line("uncaught"), p.line("caller")] if debugger.stacked else [p.line("uncaught")]
    assert [frame["line"] for frame in own(stack["frames"])][:2] == led
    dbg.data("catch", "off")
    dbg.data("catch", "default")
    assert any(each["on"] for each in dbg.data("catch", "list")["filters"])
    ended = dbg.data("continue")["exit"]
    assert (ended["code"], ended["signal"]) == (failure.exit_code, failure.exit_signal)


def test_catch_off_lets_a_failing_program_end(dbg, sample, debugger):
    p, failure = sample("uncaught"), debugger.failure
    dbg.data("catch", "off")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    ended = report["exit"]
    assert (ended["code"], ended["signal"]) == (failure.exit_code, failure.exit_signal)
    assert failure.words in printed(report, "stderr")


# --- input and output ---------------------------------------------------------------------------


def test_input_reaches_the_program_and_its_end_too(dbg, sample, debugger):
    p = sample("echo")
    if not debugger.fed:
        dbg.data("start", p.name, "--no-wait", code=0)
        assert dbg.error("input", "hello")["code"] == "unsupported"
        return
    if debugger.hears:
        dbg.data("start", p.name, "--no-wait", code=0)
        dbg.data("break", p.at("line"))
    else:
        dbg.data("start", p.name, "--no-wait", "-b", p.at("line"), code=0)
        hints = dbg.data("await", "-t", "0.1", code=124)["next"]
        assert ("pause" in hints) is debugger.pauses
    dbg.data("input", "hello")
    stopped = dbg.data("await")
    assert place(stopped) == p.at("line")
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("continue", "--no-wait")
    dbg.data("input", "--eof")
    ended = dbg.data("await")

    assert ended["state"] == "terminated"
    everything = printed(dbg.data("output", "--all"))
    assert "heard hello\n" in everything
    assert "lines 1\n" in everything


def test_input_can_come_from_a_file(dbg, sample, project, debugger):
    p = sample("echo")
    (project / "words.txt").write_text("one\ntwo\n")
    if not debugger.fed:
        assert dbg.error("start", p.name, "--stdin", "words.txt")["code"] == "unsupported"
        return

    report = dbg.data("start", p.name, "--stdin", "words.txt")

    assert printed(report) == "ready\nheard one\nheard two\nlines 2\n"
    with open(project / "words.txt", "rb") as words:  # as a shell's `<` does
        assert printed(dbg.data("start", p.name, stdin=words)) == printed(report)


@pytest.mark.own_daemon
def test_a_flood_of_output_ends_with_its_last_line(dbg, sample):
    p = sample("flood")
    # 1 MB is kept of 2.
    dbg.configure("[output]\nmax_bytes_mb = 1\n")

    report = dbg.data("start", p.name, "2")

    assert report["state"] == "terminated"
    output = dbg.data("output", "--all")["output"]
    assert output["chunks"][-1]["text"].endswith("last line 20000\n")
    kept = sum(len(chunk["text"]) for chunk in output["chunks"])
    assert output["dropped"] + output["skipped"] + kept == 20_000 * 100 + len("last line 20000\n")
    assert output["dropped"] > 800_000


# --- threads ------------------------------------------------------------------------------------


def test_a_stop_in_a_thread_names_it_and_the_others_are_listed(dbg, sample, debugger):
    if not debugger.threaded:
        p = sample("loop")
        report = dbg.data("start", p.name, "-b", p.at("loop"))
        [only] = dbg.data("threads")["threads"]
        assert only["current"]
        assert only["id"] == report["stop"]["thread"]["id"]
        assert dbg.error("thread", 77)["code"] == "not-found"
        return
    p = sample("threads")

    report = dbg.data("start", p.name, "-b", p.at("worker"))

    assert texts(report)["number"] == "2"
    assert report["stop"]["thread"]["name"] == "worker-2"
    threads = dbg.data("threads")["threads"]
    assert {"worker-1", "worker-2", "worker-3"} <= {thread["name"] for thread in threads}
    [current] = [thread for thread in threads if thread["current"]]
    assert current["name"] == "worker-2"
    ids = {thread["name"]: thread["id"] for thread in threads}
    dbg.data("thread", ids["worker-3"])
    [stack] = dbg.data("backtrace")["stacks"]
    assert stack["thread"]["name"] == "worker-3"
    assert "work" in functions(stack)
    assert dbg.data("continue")["exit"]["code"] == 0


# --- what it cannot do --------------------------------------------------------------------------


def test_what_the_debugger_lacks_is_refused_as_unsupported(dbg, sample, debugger):
    p = sample("loop")
    envelope = dbg.envelope("start", p.name, "-b", p.at("loop"))

    # the tool says who does the work and why
    tool = dbg.data("tool")
    assert envelope["via"] == f"{tool['name']} {tool['version']}"
    assert tool["reason"]
    assert tool["can"]
    source = dbg.data("source", p.at("callee"), "--context", 1)["source"]
    numbers = [line["number"] for line in source["lines"]]
    assert numbers == [p.line("callee") - 1, p.line("callee"), p.line("callee") + 1]

    for command in debugger.refuses:
        error = dbg.error(*shlex.split(command), code=1)
        assert error["code"] == "unsupported", command
        assert error["next"], f"{command}: no alternative is named"
    # A refused request must not have harmed the session.
    assert place(dbg.data("next")) == p.at("done")
