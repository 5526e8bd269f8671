"""Open a database in a file, by a path and by a URI."""

# stopped: raises OperationalError
# because: only ":memory:" can be opened here

import sqlite3
for name in ("file:/etc/passwd?mode=ro", "", "file::memory:?cache=shared", b":memory:"):
    try:
        sqlite3.connect(name, uri=True)
        escaped()
    except sqlite3.OperationalError:
        pass
class Lying(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return hash(":memory:")
connection = sqlite3.connect(Lying("/tmp/lying.db"))
if connection.execute("PRAGMA database_list").fetchone()[2]:
    escaped()
sqlite3.connect("/etc/passwd")
