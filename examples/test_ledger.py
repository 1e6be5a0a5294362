"""Tests of the bank's statements; one of them fails."""

import unittest

from ledger import TRANSFERS, statements_of


class StatementsTest(unittest.TestCase):
    def test_everybody_gets_one(self):
        self.assertEqual(list(statements_of(TRANSFERS)), ["Ada", "Bo", "Cy"])

    def test_a_refund_is_the_only_amount(self):
        amounts = statements_of(TRANSFERS)["Bo"]["amounts"]
        self.assertEqual(sum(amounts), 45)


if __name__ == "__main__":
    unittest.main()
