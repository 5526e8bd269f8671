"""Pass bytes, whose encoding the compiler would look for."""

# stopped: raises TypeError
# because: `exec` takes text here, not a `bytes`

exec(b"# coding: utf-7\n+AF8AXw-import+AF8AXw-('os')")
