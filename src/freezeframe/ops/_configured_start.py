"""`start --config`: start what a launch configuration of the project's editor starts."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.errors import FreezeframeError, UsageError, UserError
from freezeframe.model.answers import LaunchConfiguration, LaunchConfigurations, StopReport
from freezeframe.model.fast_dataclass import dataclass

from . import _confirmed_launches
from ._context import Context
from ._launch_args import assignments
from ._launch_configurations import ConfiguredAttach, ResolvedConfiguration, resolve
from ._launch_files import LaunchEntry, LaunchFiles, read_launch_files
from ._launch_program import LaunchRequest, launch
from ._launch_variables import LaunchVariables
from ._suggestions import quoted

#: `--config` without a name
LIST = ""
#: an argument that asks the editor's user for arguments
_PICKED_ARGUMENTS = "${command:pickArgs}"


@dataclass(frozen=True, slots=True)
class ConfiguredStart:
    """The arguments of `start` about configurations."""

    name: str
    inputs: tuple[str, ...] = ()
    confirmed: bool = False


async def start_configured(
    ctx: Context, request: ConfiguredStart, given: LaunchRequest
) -> StopReport | LaunchConfigurations:
    """Start a configuration, or each one of a compound; without a name, list them.

    *given* is what else the command says: it adds to the configuration. Its program is the file
    that would be open in the editor.
    """
    found = read_launch_files(ctx.caller.cwd, ctx.workspace.root)
    if request.name == LIST:
        return _list(ctx, found)
    members = found.find(request.name)
    resolved = [_resolved(ctx, each, given, assignments(request.inputs)) for each in members]
    _check_confirmed(request, given.program, members, resolved)
    task = found.compounds[request.name].task if request.name in found.compounds else None
    notes = [f"the preLaunchTask {task} was not run"] if task else []
    *others, (last, target) = zip(members, resolved, strict=True)
    for member, each in others:
        report = await _start(ctx, each, replace(given, wait=False, name=_session_name(member)))
        notes += [f"{member.name!r} was started as session {report.session}", *each.notes]
    name = given.name or (_session_name(last) if others else None)
    report = await _start(ctx, target, replace(given, name=name))
    return replace(report, notes=(*notes, *report.notes))


def _session_name(configuration: LaunchEntry) -> str:
    return re.sub(r"[^\w.-]+", "-", configuration.name).strip("-.").lower() or "configuration"


def _resolved(
    ctx: Context, configuration: LaunchEntry, given: LaunchRequest, inputs: dict[str, str]
) -> ResolvedConfiguration:
    """Return what *configuration* runs. Raises UserError."""
    env = ctx.caller.env
    file = os.path.abspath(os.path.join(ctx.caller.cwd, given.program)) if given.program else None
    variables = LaunchVariables(
        configuration,
        file,
        env,
        inputs,
        cwd=ctx.caller.cwd,
        home=env.get("HOME") or os.path.expanduser("~"),
    )
    fields = dict(configuration.fields)
    if given.args and _PICKED_ARGUMENTS in str(fields.get("args")):
        fields["args"] = []
    return resolve(configuration.name, variables.replace(fields), configuration.folder)


def _check_confirmed(
    request: ConfiguredStart,
    file: str | None,
    members: Sequence[LaunchEntry],
    resolved: Sequence[ResolvedConfiguration],
) -> None:
    """Raise UserError with what would run, if it was not confirmed yet."""
    digests = [
        _confirmed_launches.digest(each.name, {each.path: each.content, **target.read})
        for each, target in zip(members, resolved, strict=True)
    ]
    if request.confirmed:
        for each in digests:
            _confirmed_launches.confirm(each)
        return
    if all(map(_confirmed_launches.is_confirmed, digests)):
        return
    commands = "; ".join(f"dbg {each.command}" for each in resolved)
    options = [word for pair in request.inputs for word in ("--input", pair)]
    again = quoted(request.name, *options, "--yes", *([file] if file else []))
    raise UserError(
        f"{members[0].path} would run: {commands} (it was not confirmed yet, or has changed).",
        code="unconfirmed",
        next=f"dbg start --config {again}",
    )


async def _start(ctx: Context, target: ResolvedConfiguration, given: LaunchRequest) -> StopReport:
    """Start one configuration with what the command adds to it."""
    starts = target.starts
    if isinstance(starts, ConfiguredAttach):
        from .launch import attach  # which imports this module

        report = await attach(
            ctx,
            starts.where,
            program=starts.program,
            map=starts.map,
            breakpoints=given.breakpoints,
            adapter=given.adapter,
            name=given.name,
            timeout=given.timeout,
            record=given.record,
        )
    else:
        request = replace(
            given,
            program=starts.program,
            args=(*starts.args, *given.args),
            module=starts.module,
            stop_on_entry=given.stop_on_entry or starts.stop_on_entry,
            cwd=given.cwd or starts.cwd,
            env=(*starts.env, *given.env),
            tty=given.tty or (starts.tty and given.stdin is None),
            interpreter=given.interpreter or starts.interpreter,
            classpath=given.classpath or starts.classpath,
            child=given.child or starts.child,
            just_my_code=starts.just_my_code if given.just_my_code is None else given.just_my_code,
        )
        report = await launch(ctx, request)
    return replace(report, notes=(*target.notes, *report.notes))


def _list(ctx: Context, found: LaunchFiles) -> LaunchConfigurations:
    """Return every configuration, with the command that it stands for or why there is none."""
    entries = []
    for each in found.configurations.values():
        kind = str(each.fields.get("type") or each.fields.get("adapter") or "")
        # What depends on a file or an input is shown as written.
        try:
            target = _resolved(ctx, each, LaunchRequest(None), {})
            entries.append(LaunchConfiguration(each.name, kind, each.path, target.command))
        except FreezeframeError as error:
            why = error.message.removeprefix(f"configuration {each.name!r}: ")
            entries.append(LaunchConfiguration(each.name, kind, each.path, problem=why))
    for group in found.compounds.values():
        entries.append(
            LaunchConfiguration(group.name, "compound", group.path, ", ".join(group.members))
        )
    if not entries:
        raise UsageError(f"{found.paths[0]} has no configurations.", next="dbg start PROGRAM")
    return LaunchConfigurations(tuple(entries), next=(f"start --config {quoted(entries[0].name)}",))
