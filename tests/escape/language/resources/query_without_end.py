"""Run a query that never ends."""

# stopped: limited
# where: worker

import sqlite3
sqlite3.connect(":memory:").execute(
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
)
