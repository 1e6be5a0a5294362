"""A loop that never ends, with the variables of an ordinary function."""


def work(first, second, label):
    total = 0
    seen = {"a": 1, "b": [1, 2, 3]}
    words = ["one", "two", "three"]
    while True:
        total += first
        second = total % 7  # @stop
        label = words[second % 3]
        seen["a"] = label


work(3, 5, "start")
