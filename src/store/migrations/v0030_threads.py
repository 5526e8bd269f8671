"""Threads and messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime, Words

revision = "0030"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "threads",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("principal", OrderedText, nullable=False),
        sa.Column("agent_id", sa.Uuid, nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("marks", Words, nullable=False),
        sa.Column("messages", sa.BigInteger, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="threads_pkey"),
    )
    op.create_index("threads_principal_id", "threads", ["principal", "id"])
    op.create_table(
        "messages",
        sa.Column("thread_id", sa.Uuid, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("tool", sa.Text),
        sa.Column("call_id", sa.Text),
        sa.Column("marks", Words, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "number", name="messages_pkey"),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["threads.id"], name="messages_thread_id_fkey", ondelete="CASCADE"
        ),
    )
