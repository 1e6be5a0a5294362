"""What answers are made of: frozen dataclasses that import nothing of ours.

`values` and `stops` are what a debugger reports; `answers` is what an operation returns and a
renderer shows.
"""
