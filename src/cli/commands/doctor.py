"""`caps doctor`: which isolation layers work on this machine, and how to close each gap.

Also whether calls can be made cheaper here (decision 18), which has no effect on the isolation.
"""

from __future__ import annotations

import json
import platform
import sys
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, report_errors
from caps.cli.options import json_option

if TYPE_CHECKING:
    from caps.protocol.enforcement import Layer

_STYLES = {"fully": "green", "partially": "yellow", "not": "red"}


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Start a real zygote and print which layers it could put in force.

    Exit code 0 if all of them are, 6 if not.
    """
    from caps.protocol.enforcement import missing_layers
    from caps.worker.host.process.scheduling import may_share_processor, why_not_shared

    with report_errors():
        may_share_processor()  # an invalid value of its variable is reported as such
        layers = _applied_layers()
        not_shared = why_not_shared()
    found = {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "memory": next(layer.detail for layer in layers if layer.name == "memory"),
        "layers": [_as_object(layer) for layer in layers],
        "full": not missing_layers(layers),
        "shared_processor": {"possible": not not_shared, "reason": not_shared},
    }
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print_table(found)
    sys.exit(ExitCode.OK if found["full"] else ExitCode.HOST_FAILED)


def _applied_layers() -> tuple[Layer, ...]:
    import anyio

    from caps.worker.host.zygote.source import ZygoteSource

    async def start() -> tuple[Layer, ...]:
        source = ZygoteSource()
        async with source.open():
            return source.layers

    return anyio.run(start)


def _as_object(layer: Layer) -> dict[str, str]:
    return {
        "name": layer.name,
        "enforcement": layer.enforcement.value,
        "detail": layer.detail,
        "remedy": layer.remedy,
    }


def _print_table(found: dict[str, Any]) -> None:
    from rich.table import Column, Table
    from rich.text import Text

    from caps.cli.render.console import Console

    console = Console()
    console.print(
        f"Linux {found['kernel']} on {found['machine']}, Python {found['python']}; "
        f"memory is bounded by {found['memory']}",
        highlight=False,
    )
    how = Column("how", overflow="fold")  # a path that is cut is useless
    table = Table("layer", "in force", how, "what to do", box=None, pad_edge=False)
    for layer in found["layers"]:
        table.add_row(
            layer["name"],
            Text(layer["enforcement"], style=_STYLES[layer["enforcement"]]),
            Text(layer["detail"]),
            Text(layer["remedy"]),
        )
    console.print(table)
    sharing = found["shared_processor"]
    console.print(
        "a worker that calls often may share the processor of its host"
        if sharing["possible"]
        else f"no worker shares the processor of its host: {sharing['reason']}",
        highlight=False,
    )
    if not found["full"]:
        console.print(
            "caps refuses to run with less; CAPS_ISOLATION=best-effort runs anyway",
            highlight=False,
        )
