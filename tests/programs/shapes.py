"""Closures, generators, classes with properties, slots and dataclasses, sets and tuples."""

from dataclasses import dataclass, field


@dataclass
class Item:
    name: str
    count: int = 1
    tags: list = field(default_factory=list)


class Account:
    kind = "current"

    def __init__(self, owner, balance):
        self.owner = owner
        self._balance = balance

    @property
    def balance(self):
        return self._balance

    def deposit(self, amount):
        self._balance += amount  # @method
        return self._balance


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left, self.right = 1, None


def counter(step):
    seen = 0

    def count():
        nonlocal seen
        seen += step  # @closure
        return seen

    return count


def letters():
    for letter in "ab":
        yield letter  # @yield


def main():
    count = counter(2)
    count()
    account = Account("Ada", 10)
    item = Item("pen", 2, ["blue"])
    slotted = Slotted()
    pair = (1, "two")
    unique = {3}
    empty = [{}, (), "", set(), None]
    generator = letters()
    first = next(generator)
    account.deposit(5)
    item.tags.append("new")  # @changed
    print(first, account.balance, item, slotted.left, pair, unique, empty)  # @here


main()
