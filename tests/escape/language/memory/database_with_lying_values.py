"""Give SQLite values and parameters whose methods change what it works on."""

# stopped: harmless

import sqlite3
connection = sqlite3.connect(":memory:")
connection.execute("CREATE TABLE t (x)")
class Text(str):
    def __str__(self): connection.close(); return "x"
    def encode(self, *_): connection.close(); return b"x"
class Number(int):
    def __index__(self): connection.close(); return 1
    def __int__(self): connection.close(); return 1
class Rows:
    def __iter__(self):
        yield (1,)
        connection.execute("DROP TABLE t")
        yield (2,)
class Items(tuple):
    def __getitem__(self, at): connection.close(); return 1
    def __len__(self): connection.close(); return 1
class Names(dict):
    def __missing__(self, name): connection.close(); return 1
for call in (
    lambda: connection.execute("INSERT INTO t VALUES (?)", (Text("a"),)),
    lambda: connection.execute("INSERT INTO t VALUES (?)", (Number(1),)),
    lambda: connection.execute(Text("INSERT INTO t VALUES (1)")),
    lambda: connection.executemany("INSERT INTO t VALUES (?)", Rows()),
    lambda: connection.execute("INSERT INTO t VALUES (?)", Items((1,))),
    lambda: connection.execute("INSERT INTO t VALUES (:a)", Names()),
    lambda: connection.create_function(Text("f"), Number(1), print),
    lambda: connection._database.execute("SELECT ?", (Text("a"),)),
    lambda: connection._database.execute(Text("SELECT 1"), Items()),
    lambda: connection._database.execute_many("SELECT ?", [Items((1,))]),
):
    try:
        call()
    except (sqlite3.Error, TypeError, ValueError):
        pass
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
connection.create_function("lie", 0, lambda: Text("a"))
try:
    connection.execute("SELECT lie()")
    escaped()
except sqlite3.OperationalError:
    pass
