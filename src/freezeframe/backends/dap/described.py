"""Describe a debug adapter as a `Debugger`, for the selection."""

from __future__ import annotations

from freezeframe.backends.debugger import Debugger

from .adapters._descriptor import Adapter
from .backend import DapBackend


def debugger_of(adapter: Adapter) -> Debugger:
    return Debugger(
        name=adapter.name,
        kind="dap",
        languages=adapter.languages,
        patterns=adapter.patterns,
        shebangs=adapter.shebangs,
        binaries=adapter.binaries,
        install=adapter.install,
        find=adapter.find,
        make=lambda found, config: (adapter.backend or DapBackend)(adapter, found, config),
        modules=adapter.modules,
        rank=adapter.rank,
        remark=adapter.remark,
        check_condition=adapter.breakpoints.check_condition,
        check_log=adapter.breakpoints.check_log,
        probe_program=adapter.probe_program,
        tested=adapter.tested,
        debug_servers=adapter.servers,
        find_in_xcode=adapter.find_in_xcode,
        attach_can_stay_stopped=adapter.holds,
        forks=adapter.children.fork_modes,
    )
