"""Many ways to change variables and objects, each in a function of its own."""
import asyncio
import collections
import dataclasses
import functools
import subprocess
import sys
import threading
import weakref

LIMIT = 3
TABLE = {"rate": 3}


def assignments():
    a = 1
    b, (c, *d) = 2, (3, 4, 5)
    a += 10
    e = f = [1]
    if (g := a) > 5: h = 1
    del b
    a = 11
    return a


def loops():
    total = 0
    for i, x in enumerate([0, 0, -5]):
        total += x
    while total < 0: total += 5
    pairs = [n * 2 for n in range(3)]
    return total


class Account:
    kind = "plain"

    def __init__(self, owner):
        self.owner = owner
        self.entries = []

    def add(self, amount):
        self.entries.append(amount)
        self.total = sum(self.entries)
        return self


@dataclasses.dataclass
class Point:
    x: int
    y: int = 2


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left = 1


def objects():
    account = Account("Bo")
    account.add(5).add(7)
    point = Point(1)
    point.x = 9
    slotted = Slotted()
    slotted.right = 4
    setattr(point, "y", 8)
    return account


def containers():
    items = [3, 1, 2]
    items.append(0)
    items.sort()
    items[1] = 7
    counts = collections.Counter()
    counts["a"] += 2
    table = {"k": {"n": 1}}
    table["k"]["n"] = 2
    table.update(z=3)
    del table["z"]
    names = {"x"}
    names.add("y")
    queue = collections.deque([1])
    queue.appendleft(0)
    many = list(range(100))
    many.append(-1)
    many[50] = "fifty"
    return table


def change_globals():
    global LIMIT
    LIMIT = 4
    TABLE["rate"] = 6
    return LIMIT


def closures():
    count = 0

    def step():
        nonlocal count
        count += 1
        return count

    step()
    step()
    return count


def targets():
    try:
        {}["missing"]
    except KeyError as error:
        message = str(error)
    with open(__file__) as file:
        first = file.readline()
    return message


def generate(n):
    for i in range(n):
        sent = yield i * i
    return "done"


def consume():
    got = []
    for value in generate(3):
        got.append(value)
    return got


def deep(n):
    if n == 0:
        return 0
    below = deep(n - 1)
    return below + 1


def fails(x):
    y = x + 1
    raise ValueError(f"bad {y}")


def catches():
    try:
        fails(1)
    except ValueError:
        caught = True
    return caught


async def task_of(n):
    await asyncio.sleep(0)
    doubled = n * 2
    return doubled


async def tasks():
    first = asyncio.create_task(task_of(1), name="first")
    second = asyncio.create_task(task_of(2), name="second")
    return await asyncio.gather(first, second)


def threads():
    results = []
    worker = threading.Thread(target=results.append, args=(deep(2),), name="worker")
    other = threading.Thread(target=lambda: results.append(loops()), name="other")
    for each in (worker, other):
        each.start()
        each.join()
    return results


class Finalized:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("gone")


def lifetimes():
    log = []
    one = Finalized(log)
    ref = weakref.ref(one)
    held = [one]
    held.clear()
    one = None
    seen = list(log)
    inner = {"one": Finalized(log)}
    inner = None
    after = list(log)
    return ref() is None, seen, after


def child():
    done = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True)
    return done.stdout.strip()


def main():
    assignments()
    loops()
    objects()
    containers()
    change_globals()
    closures()
    targets()
    consume()
    deep(900)
    catches()
    print(asyncio.run(tasks()), threads(), lifetimes(), functools.reduce(max, [1, 2]))
    print(child())


if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        print(deep(3))
    else:
        main()
