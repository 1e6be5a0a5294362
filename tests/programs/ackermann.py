"""A recursion that is called 44 times, and a loop of ten rounds with known values."""


def ackermann(m, n):
    if m == 0:  # @entry
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def squares():
    total = 0
    for i in range(10):
        square = i * i
        total += square  # @square
    return total


print(squares())
print(ackermann(2, 3))
