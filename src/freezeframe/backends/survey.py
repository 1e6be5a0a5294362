"""Find out which of the known debuggers are installed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from freezeframe.config import Config
from freezeframe.model.setup_answers import AdapterInfo

from . import selection
from .debugger import Debugger, Found, Missing

#: Time limit to find one debugger and its version.
_SURVEY_S = 8.0


async def survey(
    env: Mapping[str, str], config: Config, names: Sequence[str] | None = None
) -> tuple[AdapterInfo, ...]:
    """Return every known debugger, or those of *names*, and whether each is installed.

    Looks for all in parallel, bounded in time.
    """

    async def look(each: Debugger) -> AdapterInfo:
        looking = asyncio.to_thread(each.find, env, config.adapter(each.name))
        try:
            async with asyncio.timeout(_SURVEY_S):
                found: Found | Missing = await looking
        except TimeoutError:
            found = Missing(f"it did not report its version within {_SURVEY_S:g} s")
        except OSError as error:
            found = Missing(f"it cannot be examined: {error.strerror or error}")
        return _info(each, found)

    debuggers = [
        each for each in selection.known(config).values() if names is None or each.name in names
    ]
    return tuple(await asyncio.gather(*map(look, debuggers)))


def _info(adapter: Debugger, found: Found | Missing) -> AdapterInfo:
    here = found if isinstance(found, Found) else None
    claims = (*adapter.patterns, *(f"#! {word}" for word in adapter.shebangs), *adapter.binaries)
    return AdapterInfo(
        name=adapter.name,
        kind=adapter.kind,
        languages=adapter.languages,
        found=here is not None,
        version=here.version if here is not None else None,
        path=here.path if here is not None else None,
        tested=adapter.tested,
        note=found.reason if isinstance(found, Missing) else None,
        yours=adapter.user_defined,
        install=() if here is not None else adapter.install,
        claims=(*claims, "modules") if adapter.modules else claims,
    )
