"""A tour for `make run`: untrusted code under policies/tour.json."""

import asyncio

# 1. A file that the policy lets it read.
notes = await caps.files.read(path="notes.txt")
lines = notes.content.splitlines()
print(f"read {notes.path}: {notes.size_bytes} bytes, {len(lines)} lines")

# 2. A file that it may not read: the broker says no, and says why.
try:
    await caps.files.read(path="/etc/passwd")
except PolicyDeniedError as error:
    print(f"refused: {error}")

# 3. A capability that it was not granted has no wrapper at all.
print("may it write?", hasattr(caps.files, "write"))

# 4. An escape: from a function to the globals of the interpreter behind it. (Spelt as an attribute
#    it would be refused before the first line runs; a name made at run time meets the same rule.)
try:
    getattr(print, "__glo" + "bals__")
    print("escaped!")
except AttributeError as error:
    print(f"no way out: {error}")

# 5. Calls run side by side.
sums = await asyncio.gather(*(caps.math.add(a=n, b=n) for n in range(5)))

# The last expression is the result.
{"first": lines[0], "sums": [s.result for s in sums], "at": (await caps.time.now()).iso8601}
