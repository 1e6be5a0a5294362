"""Monthly statements of a small bank, from its list of transfers."""

import sys

TRANSFERS = [
    # owner, text, amount
    ("Ada", "salary", 3200),
    ("Ada", "rent", -1100),
    ("Bo", "refund", 45),
    ("Ada", "books", -80),
    ("Cy", "invoice 17", 640),
]

TEMPLATE = {"currency": "EUR", "fees": 0, "lines": []}


def new_statement(owner):
    """A fresh statement, with the house's defaults."""
    statement = dict(TEMPLATE)
    statement["owner"] = owner
    return statement


def post(statement, text, amount):
    statement["lines"].append((text, amount))
    if amount < -1000:
        statement["fees"] += 2


def closing_balance(statement):
    return sum(amount for _, amount in statement["lines"]) - statement["fees"]


def statements_of(transfers):
    statements = {}
    for owner, text, amount in transfers:
        if owner not in statements:
            statements[owner] = new_statement(owner)
        post(statements[owner], text, amount)
    return statements


def main():
    statements = statements_of(TRANSFERS)
    for owner, statement in statements.items():
        print(f"{owner:<4}{closing_balance(statement):>6}")
    closed = sum(map(closing_balance, statements.values()))
    moved = sum(amount for _, _, amount in TRANSFERS) - sum(s["fees"] for s in statements.values())
    if closed != moved:
        print(f"does not add up: {closed} in statements, {moved} in transfers", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
