"""Executions of the service, and their events."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "executions",
        sa.Column("id", OrderedText, nullable=False),
        sa.Column("principal", OrderedText, nullable=False),
        sa.Column("agent_id", sa.Uuid),
        sa.Column("session", sa.Text),
        sa.Column("instance", OrderedText, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("source_sha256", sa.Text, nullable=False),
        sa.Column("started", sa.Boolean, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("ended_at", UtcTime),
        sa.Column("error", sa.Text),
        sa.Column("result", sa.Text),
        sa.PrimaryKeyConstraint("id", name="executions_pkey"),
    )
    op.create_index("executions_principal_id", "executions", ["principal", "id"])
    op.create_index("executions_instance_status", "executions", ["instance", "status"])
    op.create_table(
        "execution_events",
        sa.Column("execution_id", OrderedText, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("execution_id", "number", name="execution_events_pkey"),
        sa.ForeignKeyConstraint(
            ["execution_id"],
            ["executions.id"],
            name="execution_events_execution_id_fkey",
            ondelete="CASCADE",
        ),
    )
