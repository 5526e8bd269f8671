"""Have the dump of a database run with a cursor, rows and names of the code's own."""

# stopped: harmless

import sqlite3

class Lying(sqlite3.Cursor):
    def execute(self, sql, parameters=(), /):
        take(self)
        return super().execute("select 'x\"); attach ''/etc/passwd'' as p; --', 'select 1'")

class Own(sqlite3.Connection):
    def cursor(self, factory=Lying):
        return super().cursor(factory)

try:
    for line in sqlite3.connect(":memory:", factory=Own).iterdump():
        take(line)
except (sqlite3.Error, ValueError):
    pass
with_view = sqlite3.connect(":memory:")
with_view.execute("create view v as select load_extension('x')")
take(list(with_view.iterdump()))
