# what: `sqlite3.connect("data.db")`, `ATTACH`, virtual tables, pragmas that reach outside
# why: a worker has no file system; `sqlite3.connect(":memory:")` works
# raises: OperationalError: unable to open database file: only ":memory:" can be opened here; there are no files
import sqlite3
sqlite3.connect("data.db")
