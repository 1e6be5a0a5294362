"""Resolve the simulator and the process the user names. Errors list the candidates."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from freezeframe.errors import DebuggerTimeout, NotFound, UsageError

from .transport import xcrun
from .transport.xcrun import Device, Service

#: Most candidates listed in a message.
_SHOWN = 8
#: `simctl`'s name of the running simulator.
_BOOTED = "booted"


async def find(name: str | None, env: Mapping[str, str]) -> Device:
    """Return the booted simulator of a name or UDID; without one, the only one that is booted.

    Raises NotFound or UsageError with the candidates, DebuggerMissing where there is no Xcode.
    """
    device = resolve(await xcrun.devices(env), name)
    if not device.booted:
        raise NotFound(
            f"{device} is not booted, so nothing runs in it.",
            next=f"xcrun simctl boot {device.udid}",
        )
    return device


def resolve(devices: Sequence[Device], name: str | None) -> Device:
    """Return the device of *devices* that the user names, booted or not."""
    if name is None or name.lower() == _BOOTED:
        return _only([each for each in devices if each.booted], devices, "simulators are booted")
    for same in (_is, _is_loosely):
        if found := [each for each in devices if same(each, name)]:
            return _only(found, devices, f"simulators are called {name}")
    near = _near(devices, name)
    what = "the nearest are" if near else "there are" if devices else "there are none"
    raise NotFound(
        f"there is no simulator {name}; {what}{_listed(near or devices)}.",
        next=_attach(near) if near else "xcrun simctl list devices available",
    )


def _is(device: Device, name: str) -> bool:
    return name == device.name or name.upper() == device.udid.upper()


def _is_loosely(device: Device, name: str) -> bool:
    return name.casefold() == device.name.casefold()


def _only(found: Sequence[Device], devices: Sequence[Device], what: str) -> Device:
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(
            f"no simulator is booted; there are{_listed(devices)}."
            if devices
            else "no simulator is booted, and there is none.",
            next=f"xcrun simctl boot {devices[0].udid}" if devices else "xcrun simctl list devices",
        )
    raise UsageError(f"{len(found)} {what}:{_listed(found)}.", next=_attach(found))


def _near(devices: Sequence[Device], name: str) -> list[Device]:
    word = name.casefold()
    holding = [each for each in devices if word in each.name.casefold()]
    names = {each.name for each in devices}
    close = difflib.get_close_matches(name, names, 3, 0.6)
    return holding or [each for near in close for each in devices if each.name == near]


def _listed(devices: Sequence[Device]) -> str:
    # Booted ones first: the user most often means one of them.
    ordered = sorted(devices, key=lambda each: not each.booted)
    shown = "; ".join(map(str, ordered[:_SHOWN]))
    more = len(ordered) - _SHOWN
    return f" {shown}{f'; and {more} more' if more > 0 else ''}" if shown else ""


def _attach(devices: Sequence[Device]) -> str:
    # By the UDID, which is unique; a booted one if there is one.
    device = next((each for each in devices if each.booted), devices[0])
    return f"dbg attach --simulator {device.udid} --bundle-id ID"


# --- processes ------------------------------------------------------------------------------


async def process(
    device: Device, bundle_id: str, env: Mapping[str, str], *, wait_s: float | None = None
) -> int:
    """Return the process of an app in a simulator; with *wait_s*, of the next one that starts.

    Raises NotFound, UsageError or DebuggerTimeout with a next step.
    """
    if wait_s is None:
        return running(await xcrun.services(device.udid, env), bundle_id, device)
    pid = await xcrun.next_pid(device.udid, bundle_id, env, wait_s)
    if pid is None:
        raise DebuggerTimeout(
            f"{bundle_id} did not start on {device.name} within {wait_s:g} s.",
            next=f"xcrun simctl launch --wait-for-debugger {device.udid} {bundle_id}",
        )
    return pid


def running(services: Sequence[Service], bundle_id: str, device: Device) -> int:
    """Return the only process of an app among the services that `launchctl` lists."""
    pids = sorted(each.pid for each in services if each.bundle_id == bundle_id and each.pid)
    if len(pids) == 1:
        return pids[0]
    if pids:
        raise UsageError(
            f"{len(pids)} processes of {bundle_id} run on {device.name}: "
            f"{', '.join(map(str, pids))}.",
            next=f"dbg attach --simulator {device.udid} --pid {pids[-1]}",
        )
    apps = sorted({each.bundle_id for each in services if each.pid and each.app})
    if (close := difflib.get_close_matches(bundle_id, apps, 1, 0.75)) != []:
        next = f"dbg attach --simulator {device.udid} --bundle-id {close[0]}"
    else:
        next = f"xcrun simctl launch {device.udid} {bundle_id}"
    shown = [app for app in apps if not app.startswith("com.apple.")] or apps
    there = f"apps that run: {', '.join(shown[:_SHOWN])}" if shown else "no app runs there"
    raise NotFound(f"{bundle_id} does not run on {device.name}; {there}.", next=next)
