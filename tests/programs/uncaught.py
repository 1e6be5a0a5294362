"""Dies of an error that nobody catches."""


def divide(left, right):
    return left / right  # @uncaught


def average(numbers):
    total = sum(numbers)
    return divide(total, len(numbers))  # @caller


print("averages", flush=True)
print(average([1, 2, 3]))
print(average([]))
