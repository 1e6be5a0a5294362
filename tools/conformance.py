"""Holds `dbg mcp` against the official judges: `python tools/conformance.py`.

The conformance suite and the inspector of the Model Context Protocol come from npm and need
Node 22. The suite uses HTTP and knows no token, so a proxy in here adds it. What may fail is in
conformance.yml: checks that need tools, prompts and resources of the suite's own, which a server
that is not a toy does not have. Exit status 1 when anything else does, or when one of them passes.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
NODE = "node@22"
TOKEN = "conformance"
DBG = [sys.executable, str(HERE.parent / "scripts" / "dbg")]
RUNS = (["--suite", "active"], ["--requirements", "2026-07-28"])


def main() -> int:
    if shutil.which("npm") is None:
        print("npm is not installed: it brings the suite and the inspector.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="ffc-", dir="/tmp") as folder:
        env = {**os.environ, "FREEZEFRAME_HOME": f"{folder}/home", "HOME": folder}
        env["FREEZEFRAME_MCP_TOKEN"] = TOKEN
        print(f"installing {SUITE} and {INSPECTOR}", file=sys.stderr)
        node = Path(folder) / "node"
        node.mkdir()
        _npm(node, NODE, SUITE, INSPECTOR)
        env["PATH"] = f"{node}/node_modules/.bin{os.pathsep}{env['PATH']}"
        try:
            return asyncio.run(_judged(Path(folder), env))
        finally:
            subprocess.run([*DBG, "daemon", "stop"], env=env, check=False, capture_output=True)


def _npm(folder: Path, *packages: str) -> None:
    (folder / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--silent", *packages], cwd=folder, check=True)
    # Where scripts of packages are not run, the binary is a package of its own.
    ran = subprocess.run([folder / "node_modules/.bin/node", "--version"], capture_output=True)
    if ran.returncode:
        kind = f"node-{sys.platform}-{'arm64' if os.uname().machine != 'x86_64' else 'x64'}@22"
        subprocess.run(["npm", "install", "--silent", kind], cwd=folder, check=True)
        binary = folder / "node_modules" / kind.partition("@")[0] / "bin" / "node"
        (folder / "node_modules/.bin/node").unlink(missing_ok=True)
        (folder / "node_modules/.bin/node").symlink_to(binary)


async def _judged(folder: Path, env: dict[str, str]) -> int:
    port = _free_port()
    server = await asyncio.create_subprocess_exec(
        *DBG, "mcp", "--conformance", "--http", str(port), env=env
    )
    proxy = await asyncio.start_server(lambda r, w: _carry(r, w, port), "127.0.0.1", 0)
    try:
        await _listening(port)
        url = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}/mcp"
        bad = [words for words in RUNS if not await _suite(url, words, env)]
        asked = _questions(port, env["FREEZEFRAME_HOME"])
        bad += [words for words in asked if not await _inspector(words, folder, env)]
    finally:
        server.terminate()
        await server.wait()
        proxy.close()
    for words in bad:
        print(f"failed: {' '.join(words)}")
    print("all as expected" if not bad else f"{len(bad)} not as expected")
    return 1 if bad else 0


async def _suite(url: str, words: list[str], env: dict[str, str]) -> bool:
    command = ["conformance", "server", "--url", url, *words]
    command += ["--expected-failures", str(HERE / "conformance.yml")]
    suite = await asyncio.create_subprocess_exec(
        *command, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    text = (await suite.communicate())[0].decode()
    print(f"\n{' '.join(words)}\n{text[text.find('=== SUMMARY') :].strip()}")
    return suite.returncode == 0


def _questions(port: int, home: str) -> list[list[str]]:
    """Return the requests to the inspector, over both transports."""
    program = HERE.parent / "examples" / "ledger.py"
    http = [f"http://127.0.0.1:{port}/mcp", "--header", f"Authorization: Bearer {TOKEN}"]
    called = ["--method", "tools/call", "--tool-name"]
    asked = [
        ["--method", "tools/list", "--strict"],
        ["--method", "resources/list"],
        ["--method", "resources/templates/list"],
        ["--method", "resources/read", "--uri", "freezeframe://skill"],
        ["--method", "prompts/list"],
        ["--method", "prompts/get", "--prompt-name", "how_to_debug"],
        [*called, "debug_start", "--tool-arg", f"program={program}", "stop_on_entry=true"],
        [*called, "debug_variables"],
        [*called, "debug_stop"],
    ]
    # The inspector hands its own environment on only as far as it was told.
    stdio = [*DBG, "mcp", "-e", f"FREEZEFRAME_HOME={home}"]
    return [[*way, *each] for way in (stdio, http) for each in asked]


async def _inspector(words: list[str], folder: Path, env: dict[str, str]) -> bool:
    inspector = await asyncio.create_subprocess_exec(
        "mcp-inspector",
        "--cli",
        *words,
        cwd=folder,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await inspector.communicate())[0].decode()
    right = inspector.returncode == 0 and '"isError": true' not in said
    shown = " ".join(words[words.index("--method") + 1 :])
    print(f"{'✓' if right else '✗'} inspector: {shown}", flush=True)
    if not right:
        print(said[-2000:])
    return right


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """Carry requests to the server with the token in them, and answers back as they are."""
    behind, forth = await asyncio.open_connection("127.0.0.1", port)

    async def back() -> None:
        while data := await behind.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    returning = asyncio.ensure_future(back())
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            first, _, rest = head.partition(b"\r\n")
            # The suite looks at what a wrong name of a host does; a right one is the server's.
            rest = re.sub(rb"(?i)(host: (?:localhost|127\.0\.0\.1)):\d+", rb"\1:%d" % port, rest)
            forth.write(first + b"\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n" + rest)
            length = re.search(rb"(?i)content-length: (\d+)", rest)
            if length:
                forth.write(await reader.readexactly(int(length[1])))
            await forth.drain()
    except (OSError, EOFError):
        pass
    finally:
        forth.close()
        returning.cancel()
        writer.close()


async def _listening(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise SystemExit("the server does not listen")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
