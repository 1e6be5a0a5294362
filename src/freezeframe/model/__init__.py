"""Frozen dataclasses that make up answers. They import nothing else of freezeframe.

`values` and `stops` hold what a debugger reports; `answers` holds what an operation returns and a
renderer shows.
"""
