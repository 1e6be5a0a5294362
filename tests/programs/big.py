"""Values that are too big to show: 50 MB of text, 10,000 entries, a million numbers, deep nesting."""

text = "ab" * 25_000_000
lines = "first\nsecond\tthird \x1b[31mred\x1b[0m"
table = {f"key {number}": number for number in range(10_000)}
numbers = list(range(1_000_000))
nested = []
for _ in range(200):
    nested = [nested]
blob = bytes(range(256)) * 4096
print("big")  # @here
