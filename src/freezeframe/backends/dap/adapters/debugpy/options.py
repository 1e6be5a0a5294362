"""The arguments of `launch` and `attach`, which pydevd reads alike."""

from __future__ import annotations

from typing import Any

from freezeframe.backends.backend import Attach, Launch


def options(target: Launch | Attach) -> dict[str, Any]:
    return {
        "type": "debugpy",
        "justMyCode": target.just_my_code,
        "subProcess": target.follow_children,
        "redirectOutput": False,
        "showReturnValue": True,
        "resolveSymlinks": True,
        "stopAllThreadsOnSuspend": True,
        "steppingResumesAllThreads": True,
        "breakOnSystemExit": [],
        "stopOnEntry": target.enters_program,
        "variablePresentation": {
            "special": "hide",
            "function": "inline",
            "class": "inline",
            "protected": "inline",
        },
        **target.options,
    }
