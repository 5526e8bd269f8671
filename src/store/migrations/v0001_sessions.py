"""Sessions, their files, and secrets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from caps.store.columns import OrderedText, UtcTime, Words

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("principal", OrderedText, nullable=False),
        sa.Column("name", OrderedText, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="sessions_pkey"),
        sa.UniqueConstraint("principal", "name", name="sessions_principal_name_key"),
    )
    op.create_table(
        "session_files",
        sa.Column("session_id", sa.Uuid, nullable=False),
        sa.Column("path", OrderedText, nullable=False),
        sa.Column("parent", OrderedText, nullable=False),
        sa.Column("is_directory", sa.Boolean, nullable=False),
        sa.Column("is_readonly", sa.Boolean, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("labels", Words, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "path", name="session_files_pkey"),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["sessions.id"],
            name="session_files_session_id_fkey",
            ondelete="CASCADE",
        ),
    )
    op.create_index(
        "session_files_session_id_parent_path", "session_files", ["session_id", "parent", "path"]
    )
    op.create_index(
        "session_files_session_id_size_bytes", "session_files", ["session_id", "size_bytes"]
    )
    op.create_table(
        "secrets",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("owner", OrderedText, nullable=False),
        sa.Column("name", OrderedText, nullable=False),
        sa.Column("ciphertext", sa.LargeBinary, nullable=False),
        sa.Column("nonce", sa.LargeBinary, nullable=False),
        sa.Column("key_id", sa.Text, nullable=False),
        sa.Column("created_at", UtcTime, nullable=False),
        sa.Column("updated_at", UtcTime, nullable=False),
        sa.PrimaryKeyConstraint("id", name="secrets_pkey"),
        sa.UniqueConstraint("owner", "name", name="secrets_owner_name_key"),
    )
