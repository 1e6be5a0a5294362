"""The client as `dbg` is, but the daemon that it starts serves with the handler of a test."""

import sys

from freezeframe import client

HANDLER = sys.argv.pop(1)


def start() -> object:
    from freezeframe.daemon import lifecycle

    return lifecycle.connect(handler=HANDLER)


client.main(start)
