"""Fill a database in memory without end."""

# stopped: limited
# where: worker

import sqlite3
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE t (x)")
while True:
    connection.execute("INSERT INTO t VALUES (zeroblob(10000000))")
