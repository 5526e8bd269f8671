"""Executions by their end, so that old ones are found."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.create_index("executions_ended_at", "executions", ["ended_at"])
