"""A tour for `make run`: untrusted code under policies/tour.json."""

import asyncio

# 1. Read a file that the policy allows.
notes = await caps.files.read(path="notes.txt")
lines = notes.content.splitlines()
print(f"read {notes.path}: {notes.size_bytes} bytes, {len(lines)} lines")

# 2. Try to read another file: the broker refuses, and the error says why.
try:
    await caps.files.read(path="/etc/passwd")
except PolicyDeniedError as error:
    print(f"refused: {error}")

# 3. A capability that is not granted has no wrapper.
print("may it write?", hasattr(caps.files, "write"))

# 4. Try to escape: from a function to its module's globals. (Written as an attribute, this would be
#    refused before the first line runs. For a name that is built at run time, the same rule holds.)
try:
    getattr(print, "__glo" + "bals__")
    print("escaped!")
except AttributeError as error:
    print(f"no way out: {error}")

# 5. Calls run concurrently.
sums = await asyncio.gather(*(caps.math.add(a=n, b=n) for n in range(5)))

# The last expression is the result.
{"first": lines[0], "sums": [s.result for s in sums], "at": (await caps.time.now()).iso8601}
