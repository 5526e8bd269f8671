# `sqlite3` in memory
import sqlite3
from datetime import date

with sqlite3.connect(":memory:") as connection:
    connection.row_factory = sqlite3.Row
    connection.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, name TEXT UNIQUE, day DATE, n REAL)")
    rows = [("ann", date(2024, 5, 6), 1.5), ("bob", None, 2)]
    cursor = connection.executemany("INSERT INTO p (name, day, n) VALUES (?, ?, ?)", rows)
    assert cursor.rowcount == 2 and connection.in_transaction
first = connection.execute("SELECT * FROM p WHERE name = :name", {"name": "ann"}).fetchone()
assert first["day"] == "2024-05-06" and first.keys() == ["id", "name", "day", "n"]
assert [row["name"] for row in connection.execute("SELECT name FROM p ORDER BY n DESC")] == ["bob", "ann"]
try:
    with connection:
        connection.execute("DELETE FROM p")
        connection.execute("INSERT INTO p (id, name) VALUES (1, 'a'), (1, 'b')")
except sqlite3.IntegrityError as error:
    assert str(error) == "UNIQUE constraint failed: p.id"
assert connection.execute("SELECT count(*) FROM p").fetchone()[0] == 2


class Product:
    def __init__(self):
        self.value = 1

    def step(self, factor):
        self.value *= factor

    def finalize(self):
        return self.value


connection.create_function("backwards", 1, lambda text: text[::-1])
connection.create_aggregate("product", 1, Product)
assert tuple(connection.execute("SELECT backwards(max(name)), product(n) FROM p").fetchone()) == ("bob", 3)
connection.executescript("CREATE TABLE q (x); INSERT INTO q VALUES (1); INSERT INTO q VALUES (2);")
assert connection.execute("SELECT sum(x) OVER (ORDER BY x) FROM q").fetchall()[-1][0] == 3
connection.close()
