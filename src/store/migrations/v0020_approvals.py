"""Calls that wait for the approval of a person."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime

revision = "0020"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", OrderedText, nullable=False),
        sa.Column("principal", OrderedText, nullable=False),
        sa.Column("instance", OrderedText, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("asked_at", UtcTime, nullable=False),
        sa.Column("expires_at", UtcTime, nullable=False),
        sa.Column("answer", sa.Text),
        sa.PrimaryKeyConstraint("id", name="approvals_pkey"),
    )
    op.create_index("approvals_asked_at_id", "approvals", ["asked_at", "id"])
