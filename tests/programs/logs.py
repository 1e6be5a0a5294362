"""Passes one line 500 times and then dies at once, without a chance to flush anything."""

import os

for turn in range(500):
    value = turn * turn  # @turn
os._exit(9)  # @exit
