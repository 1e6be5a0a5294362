"""Which simulator, and which process of it, from what Xcode's tools say."""

from __future__ import annotations

from pathlib import Path

import pytest

from freezeframe.backends import simulators
from freezeframe.backends.transport.xcrun import Device, Service, read_devices, read_services
from freezeframe.errors import DebuggerError, NotFound, UsageError
from harness import xcode
from harness.xcode import BOOTED, IPAD, SAME_NAME, SHUT_DOWN, TWICE

_RECORDED = Path(xcode.__file__).parent


@pytest.fixture
def devices() -> list[Device]:
    return read_devices((_RECORDED / "devices.json").read_text())


@pytest.fixture
def services() -> list[Service]:
    return read_services((_RECORDED / "launchctl.txt").read_text())


def test_a_simulator_is_known_by_its_name_its_udid_and_nearly_its_name(devices):
    ipad = simulators.resolve(devices, IPAD)

    assert (ipad.runtime, ipad.state) == ("iOS 17.2", "Booted")
    assert simulators.resolve(devices, IPAD.upper()) is ipad
    assert simulators.resolve(devices, ipad.udid.lower()) is ipad
    assert simulators.resolve(devices, SHUT_DOWN).name == "iPhone SE (3rd generation)"


def test_two_of_one_name_are_told_apart_by_the_user(devices):
    with pytest.raises(UsageError) as refused:
        simulators.resolve(devices, TWICE)

    assert BOOTED in refused.value.message
    assert SAME_NAME in refused.value.message
    assert "iOS 16.4" in refused.value.message
    assert refused.value.next == f"dbg attach --simulator {BOOTED} --bundle-id ID"


def test_without_a_name_it_is_the_one_that_is_booted(devices):
    one = [each for each in devices if each.name != IPAD]

    assert simulators.resolve(one, None).udid == BOOTED
    assert simulators.resolve(one, "booted").udid == BOOTED
    with pytest.raises(UsageError, match="2 simulators are booted"):
        simulators.resolve(devices, None)
    off = [each for each in devices if not each.booted]
    with pytest.raises(NotFound, match="no simulator is booted") as refused:
        simulators.resolve(off, None)
    assert refused.value.next == f"xcrun simctl boot {off[0].udid}"


def test_an_unknown_name_lists_the_nearest_or_all(devices):
    with pytest.raises(NotFound) as near:
        simulators.resolve(devices, "iPhone SE")
    with pytest.raises(NotFound) as far:
        simulators.resolve(devices, "Vision")

    assert "the nearest are iPhone SE (3rd generation)" in near.value.message
    assert "iPad" not in near.value.message
    assert all(each.udid in far.value.message for each in devices)


def test_what_is_no_answer_of_simctl_is_said_to_be_none():
    for text in ("", "[]", '{"devices": {"iOS": [{}]}}'):
        with pytest.raises(DebuggerError, match="not print the expected JSON"):
            read_devices(text)


def test_older_tools_speak_of_the_same(devices):
    old = '{"devices": {"iOS 11.4": [{"udid": "U", "name": "N", "state": "Booted"}]}}'

    assert read_devices(old) == [Device("U", "N", "Booted", "iOS 11.4")]


def test_an_app_is_found_by_its_bundle_id(devices, services):
    device = simulators.resolve(devices, BOOTED)
    table = [*services, *read_services("4242\t0\tUIKitApplication:com.example.Shop.2[8f0c][rb]\n")]

    assert simulators.running(table, "com.example.Shop.2", device) == 4242
    assert simulators.running(table, "com.apple.SpringBoard", device) == 812
    [app] = read_services("77\t0\tapplication.com.example.Shop.1152.1158[8f0c]")
    assert app == Service("com.example.Shop", 77, app=True)


def test_an_app_that_does_not_run_is_refused_with_those_that_do(devices, services):
    device = simulators.resolve(devices, BOOTED)

    with pytest.raises(NotFound) as stopped:
        simulators.running(services, "com.example.Stopped", device)
    assert stopped.value.next == f"xcrun simctl launch {BOOTED} com.example.Stopped"
    with pytest.raises(NotFound, match=r"apps that run: com\.apple\.mobilesafari") as slip:
        simulators.running(services, "com.apple.mobilesafary", device)
    assert slip.value.next == f"dbg attach --simulator {BOOTED} --bundle-id com.apple.mobilesafari"
    twice = [Service("a.b", 7, app=True), Service("a.b", 9, app=True)]
    with pytest.raises(UsageError, match="7, 9") as several:
        simulators.running(twice, "a.b", device)
    assert several.value.next == f"dbg attach --simulator {BOOTED} --pid 9"
