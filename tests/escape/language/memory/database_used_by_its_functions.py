"""Use and close a database in the middle of its statement, by a function that SQL calls."""

# stopped: harmless

import sqlite3
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE t (x)")
connection.executemany("INSERT INTO t VALUES (?)", [(str(n),) for n in range(50)])
refused = []
def attempt(*_values):
    engine = connection._database
    for call in (
        lambda: connection.execute("DROP TABLE t"),
        connection.rollback,
        connection.commit,
        connection.close,
        lambda: connection.executescript("DELETE FROM t"),
        lambda: connection.create_function("attempt", 1, None),
        lambda: connection.create_collation("odd", None),
        lambda: connection.backup(sqlite3.connect(":memory:")),
        lambda: sqlite3.connect(":memory:").backup(connection),
        lambda: setattr(connection, "isolation_level", None),
        lambda: engine.execute("DELETE FROM t", ()),
        lambda: engine.__init__(0, None),
    ):
        try:
            call()
            escaped()
        except (sqlite3.ProgrammingError, AttributeError, TypeError):
            refused.append(1)
    return 0
class Steps:
    def step(self, value): attempt()
    def finalize(self): return attempt()
connection.create_function("attempt", 1, attempt)
connection.create_aggregate("steps", 1, Steps)
connection.create_collation("odd", attempt)
connection.execute("SELECT attempt(x), steps(x) FROM t").fetchall()
connection.execute("SELECT x FROM t ORDER BY x COLLATE odd").fetchall()
connection.execute("UPDATE t SET x = attempt(x)")
connection.execute("DELETE FROM t WHERE attempt(x) = 0")
assert refused
