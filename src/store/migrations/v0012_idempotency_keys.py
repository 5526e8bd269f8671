"""Idempotency keys of requests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("principal", OrderedText, nullable=False),
        sa.Column("key", OrderedText, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("resource", sa.Text, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("principal", "key", name="idempotency_keys_pkey"),
    )
    op.create_index("idempotency_keys_created_at", "idempotency_keys", ["created_at"])
