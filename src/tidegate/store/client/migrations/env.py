"""How alembic runs our migrations: inside a transaction of the caller.

There is no alembic.ini: the connection comes from `tidegate.store.client.migrations`. A new
revision is a file written by hand in versions/, so that it reads well; the drift test tells whether
it and the tables agree.
"""

from alembic import context

from tidegate.store.client.migrations import VERSION_TABLE
from tidegate.store.client.schema import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # SQLite changes tables by copying them.
    render_as_batch=connection.dialect.name == "sqlite",
)
context.run_migrations()
