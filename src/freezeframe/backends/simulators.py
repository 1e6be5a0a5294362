"""Which simulator is meant, and which process of it. Raises what lists the candidates."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from freezeframe.errors import DebuggerTimeout, NotFound, UsageError

from .transport import xcrun
from .transport.xcrun import Device, Service

#: candidates that are named in a message
_SHOWN = 8
#: what `simctl` itself calls the one that runs
_BOOTED = "booted"


async def find(wanted: str | None, env: Mapping[str, str]) -> Device:
    """Return the booted simulator of a name or UDID; without one, the only one that is booted.

    Raises NotFound or UsageError with the candidates, DebuggerMissing where there is no Xcode.
    """
    device = meant(await xcrun.devices(env), wanted)
    if not device.booted:
        raise NotFound(
            f"{device} is not booted, so nothing runs in it.",
            next=f"xcrun simctl boot {device.udid}",
        )
    return device


def meant(devices: Sequence[Device], wanted: str | None) -> Device:
    """Return the one of *devices* that a user means, booted or not."""
    if wanted is None or wanted.lower() == _BOOTED:
        return _only([each for each in devices if each.booted], devices, "simulators are booted")
    for same in (_is, _is_loosely):
        if found := [each for each in devices if same(each, wanted)]:
            return _only(found, devices, f"simulators are called {wanted}")
    near = _near(devices, wanted)
    what = "the nearest are" if near else "there are" if devices else "there are none"
    raise NotFound(
        f"there is no simulator {wanted}; {what}{_listed(near or devices)}.",
        next=_attach(near) if near else "xcrun simctl list devices available",
    )


def _is(device: Device, wanted: str) -> bool:
    return wanted == device.name or wanted.upper() == device.udid.upper()


def _is_loosely(device: Device, wanted: str) -> bool:
    return wanted.casefold() == device.name.casefold()


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


def _near(devices: Sequence[Device], wanted: str) -> list[Device]:
    word = wanted.casefold()
    holding = [each for each in devices if word in each.name.casefold()]
    names = {each.name for each in devices}
    close = difflib.get_close_matches(wanted, names, 3, 0.6)
    return holding or [each for name in close for each in devices if each.name == name]


def _listed(devices: Sequence[Device]) -> str:
    # Those that run first: they are what is meant most often.
    ordered = sorted(devices, key=lambda each: not each.booted)
    shown = "; ".join(map(str, ordered[:_SHOWN]))
    more = len(ordered) - _SHOWN
    return f" {shown}{f'; and {more} more' if more > 0 else ''}" if shown else ""


def _attach(devices: Sequence[Device]) -> str:
    # By what no other has; one that runs, where there is one.
    device = next((each for each in devices if each.booted), devices[0])
    return f"dbg attach --simulator {device.udid} --bundle-id ID"


# --- its processes ------------------------------------------------------------------------------


async def process(
    device: Device, bundle_id: str, env: Mapping[str, str], *, wait_s: float | None = None
) -> int:
    """Return the process of an app in a simulator; with *wait_s*, of the next one that starts.

    Raises NotFound, UsageError or DebuggerTimeout with what helps.
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
    """Return the one process of an app, of what a simulator's `launchctl` lists."""
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
    own = [app for app in apps if not app.startswith("com.apple.")] or apps
    there = f"apps that run: {', '.join(own[:_SHOWN])}" if own else "no app runs there"
    raise NotFound(f"{bundle_id} does not run on {device.name}; {there}.", next=next)
