"""ERB templates: their lines are locations like those of the program."""

from __future__ import annotations

from harness.reports import place

PAGE = """\
<% items.each do |item| %>
  <li><%= item.upcase %></li>
<% end %>
<p><%= nothing.size %></p>
"""

PROGRAM = """\
require "erb"
def render(items, nothing)
  template = ERB.new(File.read("page.erb"))
  template.filename = File.expand_path("page.erb")
  template.result(binding)
end
render(%w[a b], nil) # @render
"""


def test_a_breakpoint_in_a_template_is_hit_and_an_error_has_its_line(dbg, write_program, debugger):
    p = write_program("page.rb", PROGRAM)
    (p.path.parent / "page.erb").write_text(PAGE)

    report = dbg.data("start", p.name, "-b", p.at("render"), "-b", "page.erb:2")

    told = dbg("breakpoint", "list").out
    assert "rejected" not in told
    assert "page.erb is bound when the program makes Ruby of it" in told
    for item in ("a", "b"):
        report = dbg.data("continue")
        assert place(report) == "page.erb:2"
        assert dbg.data("print", "item")["value"]["text"] == f'"{item}"'
    failed = dbg.data("continue")
    assert failed["stop"]["exception"]["type"] == "NoMethodError"
    assert place(failed) == "page.erb:4"
