"""Monthly statements of a small bank, from its list of transfers."""

TRANSFERS = [
    # owner, text, amount
    ("Ada", "salary", 3200),
    ("Ada", "rent", -1100),
    ("Bo", "refund", 45),
    ("Ada", "books", -80),
    ("Cy", "invoice 17", 640),
]

TEMPLATE = {"currency": "EUR", "amounts": []}


def new_statement(owner):
    """A fresh statement, with the bank's defaults."""
    statement = dict(TEMPLATE)
    statement["owner"] = owner
    return statement


def post(statement, text, amount):
    statement["amounts"].append(amount)


def statements_of(transfers):
    statements = {}
    for owner, text, amount in transfers:
        if owner not in statements:
            statements[owner] = new_statement(owner)
        post(statements[owner], text, amount)
    return statements


def main():
    for owner, statement in statements_of(TRANSFERS).items():
        print(f"{owner:<4}{sum(statement['amounts']):>6} {statement['currency']}")


if __name__ == "__main__":
    main()
