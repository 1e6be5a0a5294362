"""Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3."""

import sys


def line_amount(price, count):
    amount = price * count  # @callee
    return amount  # @return


def total_of(items):
    total = 0  # @first
    for number, item in enumerate(items):
        amount = line_amount(item["price"], item["count"])  # @call
        total += amount  # @loop
        item["done"] = True  # @done
    return total  # @last


def main():
    nothing = None
    empty = []
    order = [
        {"name": "pen", "price": 2, "count": 3},
        {"name": "ink", "price": 5, "count": 1},
        {"name": "pad", "price": 4, "count": 2},
    ]
    print("adding", flush=True)  # @print
    total = total_of(order)  # @main
    print("total", total)
    print("done", file=sys.stderr)  # @after
    return 3 if total == 19 else 4  # @end


if __name__ == "__main__":
    sys.exit(main())
