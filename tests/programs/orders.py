"""Prices a few orders: a realistic little program for sessions of several calls."""

from dataclasses import dataclass, field


@dataclass
class Line:
    product: str
    quantity: int
    price: float


@dataclass
class Order:
    customer: str
    lines: list[Line] = field(default_factory=list)
    discount: float = 0.0


def subtotal(order):
    total = 0.0
    for line in order.lines:
        cost = line.quantity * line.price
        total += cost
    return total


def price(order, tax_rate):
    net = subtotal(order)  # @price
    if net > 100:
        order.discount = 0.1
    net = net * (1 - order.discount)
    tax = net * tax_rate
    gross = round(net + tax, 2)
    return max(gross, 0.0)


def report(orders):
    totals = {}
    for order in orders:
        gross = price(order, 0.2)
        totals[order.customer] = gross  # @totals
    best = max(totals, key=totals.get)
    return best, totals


ORDERS = [
    Order("ann", [Line("pen", 10, 1.5), Line("desk", 1, 120.0)]),
    Order("bob", [Line("ink", 3, 4.0)]),
    Order("cat", [Line("lamp", 2, 35.0), Line("pen", 4, 1.5)]),
    Order("dan", [Line("chair", 4, 45.0)]),
]

if __name__ == "__main__":
    print(report(ORDERS))
