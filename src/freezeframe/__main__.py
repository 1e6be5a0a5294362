"""The composition root: `python -m freezeframe …` is `dbg …`; the daemon starts here too."""

import os
import sys
from typing import NoReturn

if not __package__:
    # Run by its path, so that the caller's directory and PYTHONPATH stay out of the daemon.
    # Appended last, because only a package that was not installed needs this entry.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

HANDLER = "freezeframe.frontends.request_handler:make_handler"


def main() -> NoReturn:
    if sys.argv[1:2] == ["daemon"] and (len(sys.argv) == 2 or sys.argv[2].startswith("--")):
        from freezeframe.daemon import main as process
        from freezeframe.errors import FreezeframeError

        try:
            process.run(sys.argv[2:], HANDLER)
        except FreezeframeError as error:
            sys.exit(f"{error}\n  next: {error.next}")
    if sys.argv[1:2] == ["local"]:
        from freezeframe.frontends import local

        local.main(sys.argv[2:])
    if sys.argv[1:2] == ["mcp"]:
        from freezeframe.frontends.mcp import main as command

        command.main(sys.argv[1:])
    if sys.argv[1:2] == ["dap"]:
        from freezeframe.frontends.dap_server import main as dap

        dap.main(sys.argv[1:])
    if sys.argv[1:2] == ["serve-page"]:
        from freezeframe.frontends.web import main as page

        page.main()
    if sys.argv[1:2] == ["show"]:
        from freezeframe.frontends.show import main as show

        show.main(sys.argv[1:])
    from freezeframe import client

    client.main()


if __name__ == "__main__":
    main()
