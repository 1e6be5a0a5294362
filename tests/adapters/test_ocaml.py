"""OCaml under its own debugger: real reverse execution, names from the bytecode, expressions."""

from __future__ import annotations

from harness import programs
from harness.reports import changed, frame_of, place, printed, texts, values


def test_a_step_back_undoes_a_step_and_tells_what_changed_back(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("loop"))
    assert texts(dbg.data("next"))["total"] == "6"
    assert texts(dbg.data("next"))["sum"] == "{contents = 6}"

    dbg.data("back")
    back = dbg.data("back")

    assert place(back) == p.at("loop")
    assert (values(back)["total"]["text"], values(back)["total"]["was"]) == ("0", "6")
    assert changed(back) == {"total"}
    assert "back at time" in back["stop"]["description"]
    assert texts(dbg.data("next", "--count", 2))["sum"] == "{contents = 6}"


def test_running_backwards_ends_at_the_breakpoint_that_was_passed_last(dbg, sample):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("last"))
    dbg.data("break", p.at("loop"), "-c", "number = 1")

    back = dbg.data("reverse-continue")
    assert (place(back), back["stop"]["breakpoints"]) == (p.at("loop"), [2])
    assert texts(back)["number"] == "1"

    inside = dbg.data("reverse-step")
    assert (place(inside), frame_of(inside)["function"]) == (p.at("return"), "line_amount")
    assert place(dbg.data("reverse-finish")) == p.at("call")

    first = dbg.data("reverse-continue")
    assert first["stop"]["reason"] == "entry"
    assert dbg.error("reverse-continue")["message"] == "this is the beginning of the program."
    # What it prints when it runs again it had printed before; new output is reported.
    assert printed(dbg.data("output", "--all")) == "adding\n"
    dbg.data("breakpoint", "remove", "--all")
    assert dbg.data("continue")["exit"]["code"] == 3


def test_from_an_exception_that_ends_the_program_there_is_a_way_back(dbg, sample):
    p = sample("uncaught")

    died = dbg.data("start", p.name)
    assert (died["stop"]["reason"], place(died)) == ("exception", p.at("uncaught"))
    assert printed(died) == "averages\n2\n"
    assert texts(dbg.data("reverse-finish")) == {"numbers": "[]", "total": "0"}

    assert dbg.data("continue")["stop"]["reason"] == "exception"
    assert dbg.data("continue")["exit"]["code"] == 2


def test_a_program_that_was_given_input_does_not_go_back(dbg, sample, project):
    p = sample("echo")
    (project / "words.txt").write_text("one\ntwo\n")
    dbg.data("start", p.name, "--stdin", "words.txt", "-b", p.at("line"))

    refused = dbg.error("back")

    assert "was given input" in refused["message"]
    assert texts(dbg.data("continue"))["line"] == '"two"'


_SHAPES = """\
module Inner = struct let depth = 5 end
type person = { name : string; mutable age : int; tags : string list }
type color = Red | Green of int
let limit = 42
let look (who : person ref) (pair : int * string) (color : color) (maybe : int option) =
  let numbers = [| 10; 20 |] in
  let text = "two\\nlines" in
  let each = List.map (fun number ->
      let doubled = number * 2 in
      doubled + Array.length numbers) [ 1; 2 ] in (* @closure *)
  ignore (who, pair, color, maybe, text); (* @here *)
  print_endline text; (* @second *)
  List.length each
let () =
  let who = ref { name = "bob"; age = 3; tags = [ "a"; "b" ] } in
  exit (look who (7, "seven") (Green 2) (Some 3)) (* @call *)
"""


def test_names_come_from_the_program_and_expressions_are_worked_out(dbg, project):
    p = programs.write("shapes.ml", _SHAPES, project)
    at = dbg.data("start", p.name, "-b", p.at("here"))

    assert set(texts(at)) == {"who", "pair", "color", "maybe", "numbers", "text", "each"}
    assert set(texts(dbg.data("args"))) == {"who", "pair", "color", "maybe"}

    def worth(expression):
        return dbg.data("print", expression)["value"]["text"]

    assert worth("!who.age + limit") == "45"
    assert worth('(!who).name = "bob" && color <> Red') == "true"
    assert worth("maybe = Some 3") == "true"
    assert worth("numbers.(1) / 3") == "6"
    assert worth("Inner.depth - 10") == "-5"
    assert worth("!who.tags") == '["a"; "b"]'
    # Arguments like these would end the debugger itself.
    for wrong in ("text +", "List.length each", "let x = 1 in x"):
        assert dbg.error("print", wrong)["code"] == "evaluation"
    assert place(dbg.data("next")) == p.at("second")


def test_a_line_with_a_closure_is_stopped_at_inside_of_it_too(dbg, project):
    p = programs.write("shapes.ml", _SHAPES, project)

    inside = dbg.data("start", p.name, "-b", p.at("closure"))

    # Only what the closure has taken along is there.
    assert set(texts(inside)) == {"number", "doubled", "numbers"}
    assert dbg.data("continue")["stop"]["breakpoints"] == [1]
    assert dbg.data("continue")["exit"]["code"] == 2


def test_modules_beside_a_program_are_built_with_it_and_errors_told(dbg, project):
    programs.write("helper.ml", "let twice x =\n  x * 2 (* @twice *)\n", project)
    programs.write("helper.mli", "val twice : int -> int\n", project)
    programs.write("main.ml", "let () = print_int (Helper.twice 4)\n", project)

    stopped = dbg.data("start", "main.ml", "-b", "helper.ml:2")

    assert (texts(stopped)["x"], frame_of(stopped)["function"]) == ("4", "twice")
    assert sorted(path.name for path in project.glob("*.cm*")) == []
    programs.write("main.ml", 'let () = print_int "four"\n', project)
    failed = dbg.error("start", "main.ml")
    assert failed["code"] == "build-failed"
    assert "main.ml:1:20: This expression has type string" in failed["message"]


def test_a_program_that_waits_for_input_promises_no_pause_that_does_not_come(dbg, project):
    text = "let wait () =\n  let line = input_line stdin in\n  String.length line\n"
    text += "let () =\n  print_newline ();\n  print_int (wait ())\n"
    programs.write("waits.ml", text, project)
    dbg.data("start", "waits.ml", "--no-wait")

    report = dbg.data("await", "--timeout", "2", code=124)

    assert "only when that call returns" in str(report["notes"])
    dbg.data("input", "x\n")
    assert dbg.data("await")["state"] == "terminated"
