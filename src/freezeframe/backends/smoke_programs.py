"""A tiny program in each language, for the smoke test of a debugger.

Each has a variable `answer` that is 42 at the line with `@stop`, and exits with 3.
"""

from __future__ import annotations

MARK = "@stop"
VARIABLE, VALUE = "answer", "42"
EXIT_CODE = 3
#: File name without suffix; a Java class must have the name of its file.
STEM = "Agent"

#: language → suffix and text
PROGRAMS: dict[str, tuple[str, str]] = {
    "Python": (".py", "import sys\n\nanswer = 6 * 7\nsys.exit(3)  # @stop\n"),
    "C": (
        ".c",
        "int main(void)\n{\n    volatile int answer = 6 * 7;\n"
        "    return answer == 42 ? 3 : 4; /* @stop */\n}\n",
    ),
    "Go": (
        ".go",
        'package main\n\nimport "os"\n\nfunc main() {\n\tanswer := 6 * 7\n'
        "\tif answer == 42 { // @stop\n\t\tos.Exit(3)\n\t}\n}\n",
    ),
    "JavaScript": (".js", "const answer = 6 * 7;\nprocess.exit(3); // @stop\n"),
    "Ruby": (".rb", "answer = 6 * 7\nexit 3 # @stop\n"),
    "PHP": (".php", "<?php\n$answer = 6 * 7;\nexit(3); // @stop\n"),
    "Perl": (".pl", "my $answer = 6 * 7;\nexit 3; # @stop\n"),
    "Haskell": (
        ".hs",
        "import Control.Exception\nimport System.Exit\n\nmain :: IO ()\nmain = do\n"
        "  answer <- evaluate (6 * 7 :: Int)\n"
        "  exitWith (ExitFailure (if answer == 42 then 3 else 4)) -- @stop\n",
    ),
    "OCaml": (
        ".ml",
        "let () =\n  let answer = 6 * 7 in\n  exit (if answer = 42 then 3 else 4) (* @stop *)\n",
    ),
    "Java": (
        ".java",
        "public class Agent {\n    public static void main(String[] words) {\n"
        "        int answer = 6 * 7;\n        System.exit(answer == 42 ? 3 : 4); // @stop\n"
        "    }\n}\n",
    ),
}


def stop_line(text: str) -> int | None:
    """Return the number of the line to stop at; None if the program marks none."""
    for number, line in enumerate(text.splitlines(), 1):
        if MARK in line:
            return number
    return None


def program_for(
    languages: tuple[str, ...], own: tuple[str, str] | None = None
) -> tuple[str, str] | None:
    """Return suffix and text of the program to test a debugger of *languages* with.

    The debugger's *own* program is preferred if it marks a line to stop at.
    """
    if own is not None and stop_line(own[1]) is not None:
        return own
    return next((PROGRAMS[each] for each in languages if each in PROGRAMS), own)
