"""requests: it looks for its certificates before it finds that there is no network."""

from __future__ import annotations

from pathlib import Path

from caps.worker.inside.packages import data_files
from caps.worker.inside.packages.preparation import Preparation


def _keep_certificates() -> None:
    import certifi

    file = Path(certifi.where())
    data_files.keep(file.parent, file.name)


PREPARATIONS = (
    Preparation(package="requests", needs=("certifi",), exercises=(_keep_certificates,)),
)
