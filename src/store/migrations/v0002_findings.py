"""Findings of research, by session."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime, Words

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "findings",
        sa.Column("session_id", sa.Uuid, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("section", OrderedText, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sources", sa.Text, nullable=False),
        sa.Column("labels", Words, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "number", name="findings_pkey"),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name="findings_session_id_fkey", ondelete="CASCADE"
        ),
    )
