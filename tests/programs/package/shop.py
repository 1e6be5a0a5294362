PRICES = {"pen": 2}


def price(name):
    found = PRICES[name]  # @package_callee
    return found
