-- The tables of a new file, as all migrations make them; a test holds it against Alembic.

CREATE TABLE journal_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT journal_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE journal_partitions (
	id INTEGER NOT NULL,
	name TEXT NOT NULL,
	seq BIGINT NOT NULL,
	hash BLOB NOT NULL,
	base_seq BIGINT NOT NULL,
	base_hash BLOB NOT NULL,
	holder TEXT NOT NULL,
	token BIGINT NOT NULL,
	until BIGINT NOT NULL,
	CONSTRAINT pk_journal_partitions PRIMARY KEY (id),
	CONSTRAINT uq_journal_partitions_name UNIQUE (name)
);

CREATE TABLE journal_entries (
	partition_id INTEGER NOT NULL,
	seq BIGINT NOT NULL,
	at BIGINT NOT NULL,
	actor TEXT NOT NULL,
	kind TEXT NOT NULL,
	target TEXT NOT NULL,
	body BLOB NOT NULL,
	hash BLOB NOT NULL,
	CONSTRAINT pk_journal_entries PRIMARY KEY (partition_id, seq)
)
 WITHOUT ROWID;

CREATE TABLE journal_projections (
	partition_id INTEGER NOT NULL,
	seq BIGINT NOT NULL,
	state BLOB NOT NULL,
	CONSTRAINT pk_journal_projections PRIMARY KEY (partition_id)
);

CREATE TABLE journal_claims (
	name TEXT NOT NULL,
	place BIGINT NOT NULL,
	partition TEXT NOT NULL,
	"key" TEXT NOT NULL,
	at BIGINT NOT NULL,
	CONSTRAINT pk_journal_claims PRIMARY KEY (name, place)
)
 WITHOUT ROWID;

CREATE INDEX ix_journal_claims_key ON journal_claims ("key");
