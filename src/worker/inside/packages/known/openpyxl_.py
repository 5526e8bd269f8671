"""openpyxl: pandas reads and writes Excel files with it."""

from __future__ import annotations

from caps.worker.inside.packages.preparation import Preparation

PREPARATIONS = (Preparation(package="openpyxl", parts="openpyxl.*"),)
