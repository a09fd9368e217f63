"""The first tables: partitions with their leases, entries, projections, claims."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "journal_partitions",
        sa.Column("id", _Id, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("base_seq", sa.BigInteger, nullable=False),
        sa.Column("base_hash", sa.LargeBinary, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_journal_partitions"),
        sa.UniqueConstraint("name", name="uq_journal_partitions_name"),
    )
    op.create_table(
        "journal_entries",
        sa.Column("partition_id", _Id, nullable=False, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("partition_id", "seq", name="pk_journal_entries"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "journal_projections",
        sa.Column("partition_id", _Id, nullable=False, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("partition_id", name="pk_journal_projections"),
    )
    op.create_table(
        "journal_claims",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("partition", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", "place", name="pk_journal_claims"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_journal_claims_key", "journal_claims", ["key"])
