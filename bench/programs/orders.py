"""A program as people write them: lines of a log to records, totals, a report, JSON and back.

Prints the processor time that its own code took, or, with `library`, that of library code alone.
"""

import datetime
import json
import re
import sys
import time

LINE = re.compile(r"(?P<when>\S+) (?P<who>\w+) (?P<what>\w+)=(?P<amount>\d+(?:\.\d+)?)")


class Order:
    def __init__(self, who, what, amount, when):
        self.who = who
        self.what = what
        self.amount = amount
        self.when = when
        self.tags = []

    def total(self, rates):
        rate = rates.get(self.what, 1.0)
        amount = self.amount * rate
        if amount > 100:
            amount = round(amount * 0.9, 2)
        return amount


def parse(lines):
    orders = []
    for line in lines:
        found = LINE.match(line)
        if found is None:
            continue
        when = datetime.datetime.fromisoformat(found["when"])
        order = Order(found["who"].title(), found["what"], float(found["amount"]), when)
        if when.hour < 6:
            order.tags.append("night")
        orders.append(order)
    return orders


def group(orders, rates):
    totals = {}
    for order in orders:
        key = order.who
        totals[key] = totals.get(key, 0.0) + order.total(rates)
    return totals


def depth(n):
    return 0 if n <= 0 else depth(n - 1) + 1


def report(totals):
    rows = []
    for who, total in sorted(totals.items(), key=lambda pair: -pair[1]):
        rows.append(f"{who:<10} {total:>10.2f}")
    return "\n".join(rows)


def once(lines, rates):
    orders = parse(lines)
    totals = group(orders, rates)
    text = report(totals)
    stored = json.dumps({"totals": totals, "days": [str(each.when.date()) for each in orders]})
    again = json.loads(stored)
    night = sum(1 for order in orders if order.tags)
    return len(text) + len(again["days"]) + night + depth(10)


def library():
    value = {"rows": [{"name": f"n{i}", "values": list(range(20))} for i in range(300)]}
    size = 0
    for _ in range(30):
        text = json.dumps(value, indent=1)
        size += len(json.loads(text)["rows"])
    return size


def main():
    rates = {"apples": 1.5, "pears": 0.8}
    fruits = ["apples", "pears", "plums"]
    lines = [
        f"2024-01-{1 + i % 28:02}T{i % 24:02}:00:00 user{i % 7} {fruits[i % 3]}={i}.5"
        for i in range(50)
    ]
    began = time.process_time()
    if sys.argv[1:] == ["library"]:
        library()
    else:
        for _ in range(30):
            once(lines, rates)
    print(time.process_time() - began)


main()
