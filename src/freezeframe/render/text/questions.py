"""Where a value came from: one line for each statement of the chain, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.questions import Condition, Explanation, Link, LinkKind, ReadValue
from freezeframe.render.budget import Capped, Fixed, Listing, Section
from freezeframe.render.formatting import clip, file_line, head_of, one_line, plural, size
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, wrapped_in

_MOST_VALUE = 60
_MOST_STATEMENT, _LEAST_STATEMENT = 90, 28
_LEAST_CHANGE = 24
_MOST_READ = 40
#: of the calls that may have decided a value
_CALLS_BYTES = 600
#: of the line of one statement, tried in this order
_WIDTHS = (320, 240, 190, 150, 125, 105, 90)


def explanation_sections(answer: Explanation, rank: int, view: View) -> list[Section]:
    """Return the lines of a chain, without its next steps: the chain first, if there is one."""
    if not answer.links:
        return [*calls_section(answer, rank, view), *_ends(answer, rank)]
    subject = answer.part or answer.expression
    value = answer.part_value if answer.part else answer.value
    shown = f" = {clip(value, _MOST_VALUE)}" if value is not None else ""
    text = "came from"
    if any(each.kind is LinkKind.NOT_RAISED for each in answer.links):
        text = "raised nothing; what decided it:"
    head = Line(f"{clip(subject, _MOST_VALUE)}{shown} {text}", Tone.HEAD)

    def item(index: int, width: int) -> list[Line]:
        return [Line(_link_text(answer.links, index, width, view), Tone.VALUE)]

    def more(shown: int) -> str | None:
        missing = len(answer.links) - shown
        return f"  … {plural(missing, 'older statement')}" if missing else None

    listing = Listing(rank, len(answer.links), item, more, (head,), widths=_WIDTHS)
    return [listing, *calls_section(answer, rank, view), *_ends(answer, rank)]


def calls_section(answer: Explanation, rank: int, view: View) -> list[Section]:
    """Return the calls that may have decided the value."""
    if not answer.calls:
        return []
    head = Line("calls that may have decided it", Tone.HEAD)

    def item(index: int, width: int) -> list[Line]:
        return [Line(_link_text(answer.calls, index, width, view), Tone.VALUE)]

    listing = Listing(rank, len(answer.calls), item, head=(head,), widths=_WIDTHS[1:])
    return [Capped(listing, _CALLS_BYTES)]


def _ends(answer: Explanation, rank: int) -> list[Section]:
    sections: list[Section] = [
        wrapped_in(rank, f"  {each}", Tone.QUIET) for each in answer.ends[:3]
    ]
    if answer.left_out:
        names = ", ".join(clip(each, 40) for each in answer.left_out)
        sections.append(wrapped_in(rank + 1, f"  not followed: {names}", Tone.QUIET))
    return sections


def _link_text(links: Sequence[Link], index: int, width: int, view: View) -> str:
    link = links[index]
    location = _location(links, index, view)
    # What the statement made matters more than all of its text.
    room = width - size(location) - 6
    change = _brief(_change(link), max(_LEAST_CHANGE, room - _LEAST_STATEMENT))
    left = min(_MOST_STATEMENT, room - size(change))
    text = f"  {location}  {_brief(link.statement, max(_LEAST_STATEMENT, left))}"
    text += f"  {change}" if change else ""
    # Facts are left out whole, the least important ones first.
    facts = _facts(link, view)
    first = next((at for at, (rank, _) in enumerate(facts) if rank == 0), 0)
    shorter = {first + at: _branch_location(each) for at, each in enumerate(link.conditions)}
    kept: set[int] = set()
    for _, position in sorted((rank, position) for position, (rank, _) in enumerate(facts)):
        shown = [fact for at, (_, fact) in enumerate(facts) if at in kept or at == position]
        if size(f"{text}  {'; '.join(shown)}") <= width:
            kept.add(position)
        elif position in shorter:
            rank, _ = facts[position]
            facts[position] = (rank, shorter[position])
            shown = [fact for at, (_, fact) in enumerate(facts) if at in kept or at == position]
            if size(f"{text}  {'; '.join(shown)}") <= width:
                kept.add(position)
    shown = [fact for at, (_, fact) in enumerate(facts) if at in kept]
    return _brief(f"{text}  {'; '.join(shown)}" if shown else text, width)


def _brief(text: str, limit: int) -> str:
    """Return *text* on one line of at most *limit* bytes; what is left out is one character.

    A line of a chain has several short texts: the sizes of what is left out would fill it.
    """
    whole = one_line(text)
    if size(whole) <= limit:
        return whole
    end = whole[-(limit // 4) :]
    while size(end) > limit // 4:
        end = end[1:]
    return f"{head_of(whole, limit - size(end) - size('…'))}…{end}"


def _location(links: Sequence[Link], index: int, view: View) -> str:
    """Return the location of a link: of its file and function only what the line above has not."""
    link = links[index]
    above = links[index - 1] if index else None
    function = one_line(link.function.rpartition("<locals>.")[2])
    if above is None or above.path != link.path:
        return f"{file_line(link.path, link.line, view.cwd)} in {function}"
    return f":{link.line}" if above.function == link.function else f":{link.line} in {function}"


def _change(link: Link) -> str:
    if link.new is None:
        return "" if link.old is None else f"{_brief(link.old, _MOST_VALUE)} → deleted"
    new = _brief(link.new, _MOST_VALUE)
    if link.kind is LinkKind.RETURN:
        return f"returned {new}"
    if link.kind is LinkKind.RAISED:
        return f"raised {new}"
    if link.kind in (LinkKind.ARGUMENT, LinkKind.DEFAULT):
        return f"{link.target} = {new}"
    return f"= {new}" if link.old is None else f"{_brief(link.old, _MOST_VALUE)} → {new}"


def _facts(link: Link, view: View) -> list[tuple[int, str]]:
    """Return what is known about a statement in the order it is shown, each with its rank."""
    shown = {each.expression for each in link.reads}
    short = [each for each in link.reads if len(each.value) <= _MOST_READ]
    long = [each for each in link.reads if len(each.value) > _MOST_READ]
    facts = [(1, _reads(short))] if short else []
    facts += [(0, _condition(each, shown, link, view)) for each in link.conditions]
    if link.iteration is not None:
        facts.append((2, f"round {link.iteration.round} of {link.iteration.of}"))
    if link.note:
        rank = -1 if link.kind is LinkKind.NOT_EXECUTED else 3
        facts.append((rank, one_line(link.note)))
    if link.via:
        facts.append((4, f"via {_relays(link, view)}"))
    return [*facts, *((5, _reads([each])) for each in long)]


def _relays(link: Link, view: View) -> str:
    """Return the locations of relays, the file of each only where it changes."""
    shown: list[str] = []
    path = link.path
    for relay in link.via:
        location = file_line(relay.path, relay.line, view.cwd)
        shown.append(f":{relay.line}" if relay.path == path else location)
        path = relay.path
    return ", ".join(shown)


def _reads(reads: Sequence[ReadValue]) -> str:
    return ", ".join(
        f"{_brief(each.expression, _MOST_READ)} = {_brief(each.value, _MOST_READ)}"
        for each in reads
    )


def _condition(condition: Condition, shown: set[str], link: Link, view: View) -> str:
    word = "taken" if condition.taken else "not taken"
    reads = condition.reads
    if not condition.decisive:
        reads = tuple(each for each in reads if each.expression not in shown)
    values = f" ({_reads(reads)})" if reads else ""
    if condition.exception is not None:
        values = f" ({_brief(condition.exception, _MOST_VALUE)})"
    line = ""
    if condition.decisive:
        same = condition.path == link.path
        line = "line" if same else file_line(condition.path, None, view.cwd) + " line"
        line += f" {condition.line} "
    return f"{word}: {line}{_brief(condition.text, _MOST_VALUE)}{values}"


def _branch_location(condition: Condition) -> str:
    """Return which branch it was, where there is no room for its condition."""
    return f"{'taken' if condition.taken else 'not taken'}: line {condition.line}"


@renders(Explanation)
def _explanation(answer: Explanation, view: View) -> list[Section]:
    location = file_line(answer.path, answer.line, view.cwd) if answer.path else ""
    value = f" = {clip(answer.value, _MOST_VALUE)}" if answer.value is not None else ""
    first = f"{clip(answer.expression, 50)}{value}"
    sections: list[Section] = []
    if not answer.links:
        sections.append(headline(first + (f"  {location}" if location else "")))
    sections += explanation_sections(answer, 1, view)
    sections += [Fixed(3, (Line(clip(note, 300), Tone.QUIET),)) for note in answer.notes]
    return [*sections, *next_step(answer.next)]
