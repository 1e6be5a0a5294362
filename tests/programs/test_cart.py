"""A test file in which one test fails."""


def add_discount(prices, percent):
    for index, price in enumerate(prices):
        prices[index] = price * (100 - percent) // 100  # @discount
    return prices


def test_discount_is_taken():
    assert add_discount([100], 10) == [90]


def test_discount_leaves_the_given_prices_alone():
    prices = [100, 200]
    add_discount(prices, 50)
    assert prices == [100, 200]  # @assert
