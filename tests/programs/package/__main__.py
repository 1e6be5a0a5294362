"""Run with -m: prints its own name, and imports from its package."""

import sys

from .shop import price

amount = price("pen")  # @package_main
print(__name__, __package__, amount, sys.argv[1:])
