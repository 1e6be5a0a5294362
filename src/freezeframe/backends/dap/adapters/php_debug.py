"""PHP through vscode-php-debug, which speaks to Xdebug inside PHP; from its documentation."""

from __future__ import annotations

from typing import Any

from freezeframe.backends.backend import Launch

from ._documented import documented


def _launch(target: Launch, path: str) -> dict[str, Any]:
    return {
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        # 0: a free port, which the environment hands to Xdebug.
        "port": 0,
        "runtimeArgs": ["-dxdebug.start_with_request=yes"],
        "env": {
            **target.env,
            "XDEBUG_MODE": "debug,develop",
            "XDEBUG_CONFIG": "client_port=${port}",
        },
        "stopOnEntry": target.stop_on_entry,
    }


ADAPTER = documented(
    "php-debug",
    adapter_id="php",
    languages=("PHP",),
    patterns=("*.php",),
    shebangs=("php",),
    install=(
        "git clone https://github.com/xdebug/vscode-php-debug ~/.local/share/vscode-php-debug"
        " && cd ~/.local/share/vscode-php-debug && npm install && npm run build",
        "apt-get install php-xdebug",
    ),
    programs=("php-debug-adapter",),
    scripts=(
        "~/.local/share/vscode-php-debug/out/phpDebug.js",
        "~/.vscode/extensions/xdebug.php-debug-*/out/phpDebug.js",
    ),
    places=("~/.local/share/nvim/mason/bin",),
    launch=_launch,
)
