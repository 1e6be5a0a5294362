"""Remote and local folders of a program that runs elsewhere."""

from __future__ import annotations

import pytest

from freezeframe.backends.capabilities import MemoryAccess, Watchpoints
from freezeframe.backends.path_mapping import PathMapping, mapped
from freezeframe.backends.snapshots import TakesSnapshots
from freezeframe.errors import UsageError


def test_paths_are_mapped_both_ways_and_others_left_alone(tmp_path):
    mapping = PathMapping.parse([f"/app/lib={tmp_path}", "/app=."], str(tmp_path.parent))
    parent, name = str(tmp_path.parent), tmp_path.name

    assert mapping.here("/app/lib/a.py") == f"{parent}/{name}/a.py"
    assert mapping.here("/app/b.py") == f"{parent}/b.py"
    assert mapping.here("/application/b.py") == "/application/b.py"
    assert mapping.there(f"{parent}/b.py") == "/app/b.py"
    assert mapping.there(f"{tmp_path}/a.py") == "/app/lib/a.py"
    assert mapping.here(None) is None


def test_the_root_can_be_mapped(tmp_path):
    mapping = PathMapping.parse(["/=."], str(tmp_path))

    assert mapping.here("/srv/a.py") == f"{tmp_path}/srv/a.py"
    assert mapping.there(f"{tmp_path}/srv/a.py") == "/srv/a.py"


@pytest.mark.parametrize("text", ["app", "relative=.", "/app=no/such/folder"])
def test_what_maps_nothing_is_refused(tmp_path, text):
    with pytest.raises(UsageError):
        PathMapping.parse([text], str(tmp_path))


def test_a_backend_with_mapped_paths_has_the_optional_parts_of_its_own(tmp_path):
    class Inner:
        async def read_memory(self, address, count):
            return address, b"", count

        async def write_memory(self, address, data):
            return 0

        async def snapshot(self, *, stacks=True):
            return None

    mapping = PathMapping.parse((f"/srv={tmp_path}",), str(tmp_path))
    backend = mapped(Inner, mapping)()
    assert isinstance(backend, MemoryAccess)
    assert isinstance(backend, TakesSnapshots)
    assert not isinstance(backend, Watchpoints)
