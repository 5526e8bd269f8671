"""Tool cards, and the keys that sign them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime, Words

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "tool_registry",
        sa.Column("name", OrderedText, nullable=False),
        sa.Column("version", OrderedText, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("agent_type", OrderedText, nullable=False),
        sa.Column("input_schema", sa.Text, nullable=False),
        sa.Column("output_schema", sa.Text, nullable=False),
        sa.Column("cost_estimate", sa.Double, nullable=True),
        sa.Column("side_effects", Words, nullable=False),
        sa.Column("checksum", sa.Text, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
        sa.Column("key_id", sa.Text, nullable=False),
        sa.Column("alg", sa.Text, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("name", "version", name="tool_registry_pkey"),
    )
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("alg", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("ciphertext", sa.LargeBinary, nullable=False),
        sa.Column("nonce", sa.LargeBinary, nullable=False),
        sa.Column("sealed_with", sa.Text, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="signing_keys_pkey"),
    )
