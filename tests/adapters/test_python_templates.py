"""Breakpoints in files that are not Python: templates that were compiled to Python."""

from __future__ import annotations

import sys

from harness.reports import printed, texts

_PAGE = """\
<h1>{{ title }}</h1>
<ul>
{% for item in items %}
  <li>{{ item }}</li>
{% endfor %}
</ul>
"""
_APP = """\
import os
from jinja2 import Environment, FileSystemLoader
class Quiet:
    def __bool__(self):
        print("asked for its truth")
        return True
environment = Environment(loader=FileSystemLoader(os.path.dirname(__file__)))
page = environment.get_template("page.html")
print(page.render(title="Hi", items=["a", "b"], quiet=Quiet()))
"""

_SHOP = """\
<h1>{{ title }} {{ total }}</h1>
{% for b in books %}
<li>{{ b }} of {{ title }}{% if b %}{{ b }}{% endif %}</li>
{% endfor %}
{% for b in books %}{{ b }} {{ title }}{% endfor %}
"""
_DJANGO = """\
import os
import django
from django.conf import settings
from django.template.loader import get_template
backend = "django.template.backends.django.DjangoTemplates"
settings.configure(TEMPLATES=[{"BACKEND": backend, "DIRS": [os.path.dirname(__file__)]}])
django.setup()
print(get_template("shop.html").render({"books": ["a", "b"], "title": "Shop", "total": 2}))
"""

#: the interpreter that the frameworks are installed for
_RUNS = ("--interpreter", sys.executable)


def test_a_line_of_a_template_with_several_variables_counts_once_a_pass(dbg, write_program):
    write_program("shop.html", _SHOP)
    write_program("shop.py", _DJANGO)

    first = dbg.data("start", "shop.py", "-b", "shop.html:3", *_RUNS)
    assert first["stop"]["frame"]["line"] == 3
    shown = texts(dbg.data("locals"))
    assert "'counter': 1" in shown.pop("forloop")
    assert shown == {
        "b": "'a'",
        "books": "['a', 'b']",
        "title": "'Shop'",
        "total": "2",
    }, "without the constants, the innermost first"
    assert dbg.data("set", "title", "'Mall'")["value"]["text"] == "'Mall'"
    assert dbg.error("set", "nothing", "1")["code"] == "evaluation"

    second = dbg.data("continue")
    assert second["stop"]["frame"]["line"] == 3
    assert texts(dbg.data("locals"))["b"] == "'b'"
    lines = [dbg.data("next")["stop"]["frame"]["line"] for _ in range(3)]
    assert lines == [5, 5, 5], "the loop, and each of its passes"
    ended = dbg.data("continue")
    rows = "".join(f"\n<li>{each} of Mall{each}</li>\n" for each in "ab")
    assert printed(ended) == f"<h1>Shop 2</h1>\n{rows}\na Mallb Mall\n\n"


def test_a_breakpoint_in_a_template_stops_at_its_line_with_its_variables(dbg, write_program):
    write_program("page.html", _PAGE)
    write_program("app.py", _APP)

    first = dbg.data("start", "app.py", "-b", "page.html:4", "-b", "page.html:2", *_RUNS)
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
    rows = "\n  <li>a</li>\n\n  <li>b</li>\n"
    assert printed(dbg.data("continue")) == f"<h1>Hi</h1>\n<ul>\n{rows}\n</ul>\n"
