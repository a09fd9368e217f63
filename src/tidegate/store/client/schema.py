"""The tables of a journal, the same in SQLite and PostgreSQL.

A partition's row holds the end of its chain, so that an append is one row locked, compared and
moved on, and so that a chain cut short at its end is noticed. It holds the lease too: an append
under a token locks the token with it.

Entries are clustered by partition and number: a chain is read from one stretch of the file, and
compacted by dropping one. There is no foreign key from an entry to its partition: the writer has
just locked the partition, and PostgreSQL would look it up again for every row.
"""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

# SQLite numbers rows by itself only where the type is exactly INTEGER.
_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")

partitions = sa.Table(
    "journal_partitions",
    metadata,
    sa.Column("id", _Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    # The last entry.
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    # The last entry that was dropped; 0 and the genesis hash where none was.
    sa.Column("base_seq", sa.BigInteger, nullable=False),
    sa.Column("base_hash", sa.LargeBinary, nullable=False),
    # The holder of the lease, and until when; an empty holder: none.
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)

entries = sa.Table(
    "journal_entries",
    metadata,
    sa.Column("partition_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

projections = sa.Table(
    "journal_projections",
    metadata,
    sa.Column("partition_id", _Id, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("state", sa.LargeBinary, nullable=False),
)

claims = sa.Table(
    "journal_claims",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("place", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("partition", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False, index=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
