"""Agents and their capabilities."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime

revision = "0010"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "agents",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("system_prompt", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("entries", sa.Text),
        sa.Column("policy", sa.Text),
        sa.Column("created_by", OrderedText, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="agents_pkey"),
    )
    op.create_table(
        "agent_capabilities",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("agent_id", sa.Uuid, nullable=False),
        sa.Column("capability_id", sa.String(50), nullable=False),
        sa.Column("position", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="agent_capabilities_pkey"),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name="agent_capabilities_agent_id_fkey", ondelete="CASCADE"
        ),
        sa.UniqueConstraint(
            "agent_id", "capability_id", name="agent_capabilities_agent_id_capability_id_key"
        ),
    )
    op.create_index("idx_agent_capabilities_agent_id", "agent_capabilities", ["agent_id"])
    op.create_index(
        "idx_agent_capabilities_position", "agent_capabilities", ["agent_id", "position"]
    )
