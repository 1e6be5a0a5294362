"""Breakpoints in files that are no Python: templates that were compiled to Python."""

from __future__ import annotations

from harness.reports import printed, texts

_PAGE = """\
<h1>{{ title }}</h1>
<ul>
{% for item in items %}
  <li>{{ item }}</li>
{% endfor %}
</ul>
"""
#: what Jinja makes of a template, and of its lines: `debug_info` pairs the template's with its own
_APP = '''\
class Template:
    filename = "page.html"
    debug_info = [(1, 5), (3, 6), (4, 8)]
    _debug_info = "1=5&3=6&4=8"


class Context:
    parent = {"range": range, "title": "Hi", "items": ["a", "b"]}
    vars = {}


class Environment:
    globals = {"range": range}


class Quiet:
    def __bool__(self):
        print("asked for its truth")
        return True


CODE = """

def root(context, missing=None, environment=environment):
    l_0_quiet = quiet
    yield context.parent["title"]
    for l_1_item in context.parent["items"]:
        pass
        yield l_1_item
"""
import sys, types
sys.modules["jinja2"] = types.ModuleType("jinja2")
names = {"__jinja_template__": Template, "environment": Environment, "quiet": Quiet()}
exec(compile(CODE, "page.html", "exec"), names)
print(list(names["root"](Context)))
'''


def test_a_breakpoint_in_a_template_stops_at_its_line_with_its_variables(dbg, write_program):
    write_program("page.html", _PAGE)
    write_program("app.py", _APP)

    first = dbg.data("start", "app.py", "-b", "page.html:4", "-b", "page.html:2")
    assert first["stop"]["frame"]["line"] == 1, "what has no code goes to the line before"

    shown = dbg.data("continue")
    assert shown["stop"]["breakpoints"] == [1]
    assert shown["stop"]["frame"]["line"] == 4
    values = texts(dbg.data("locals"))
    assert values.pop("quiet").startswith("Quiet")
    assert values == {"title": "'Hi'", "items": "['a', 'b']", "item": "'a'"}
    frames = dbg.data("backtrace")["stacks"][0]["frames"]
    assert [frame["line"] for frame in frames if frame["path"].endswith("page.html")] == [4]

    assert dbg.data("continue")["stop"]["frame"]["line"] == 4
    assert printed(dbg.data("continue")) == "['Hi', 'a', 'b']\n"
