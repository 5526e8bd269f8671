"""Reach the connection of the library behind a database."""

# stopped: raises AttributeError
# because: has no private attributes

import sqlite3
take(sqlite3.connect(":memory:")._database._connection)
