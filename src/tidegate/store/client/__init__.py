"""The journal in a database: SQLite in one file, PostgreSQL by URL, or memory; one contract."""
