"""Who is on call? One of these tests fails; see examples/README.md for how to find out why.

Run them with `python -m pytest examples/test_rota.py`.
"""

from datetime import date, timedelta


class Rota:
    """People take turns, a week each, from the first Monday on."""

    def __init__(self, people, first_monday):
        self.people = list(people)
        self.first_monday = first_monday
        self.swaps = {}

    def week_of(self, day):
        return (day - self.first_monday).days // 7

    def on_call(self, day):
        week = self.week_of(day)
        person = self.people[week % len(self.people)]
        return self.swaps.get(week, person)

    def swap(self, day, other_day):
        """The people of two weeks change places."""
        self.swaps[self.week_of(day)] = self.on_call(other_day)
        self.swaps[self.week_of(other_day)] = self.on_call(day)


MONDAY = date(2024, 1, 1)


def rota():
    return Rota(["Ada", "Bo", "Cy"], MONDAY)


def test_turns_come_round():
    assert [rota().on_call(MONDAY + timedelta(weeks=n)) for n in range(4)] == ["Ada", "Bo", "Cy", "Ada"]


def test_a_week_lasts_until_sunday():
    assert rota().on_call(MONDAY + timedelta(days=6)) == "Ada"


def test_two_people_can_swap_their_weeks():
    turns = rota()
    next_week = MONDAY + timedelta(weeks=1)
    turns.swap(MONDAY, next_week)
    assert turns.on_call(MONDAY) == "Bo"
    assert turns.on_call(next_week) == "Ada"
