"""Does not compile."""


def half(:
    return 0
