"""Recurses without end: an uncaught RecursionError."""


def dive(level):
    return dive(level + 1)  # @dive


dive(0)
