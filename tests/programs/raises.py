"""Raises and catches, then raises one error while it handles another, and lets it go."""


def parse(text):
    return int(text)  # @raised


def read(text):
    try:
        return parse(text)
    except ValueError:
        return -1  # @caught


def load(table, key):
    try:
        return table[key]  # @key_error
    except KeyError as missing:
        raise RuntimeError(f"no setting {key!r}") from missing  # @uncaught


print("read", read("12"), read("x"))
load({"color": "red"}, "size")  # @load
