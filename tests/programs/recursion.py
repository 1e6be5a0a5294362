"""A recursion with a known depth: 10 frames of `down` at the bottom."""


def down(depth):
    if depth == 0:
        return 1  # @bottom
    below = down(depth - 1)
    return below + 1  # @up


print(down(9))  # @start
