"""Leave a result that is too deep to send."""

# stopped: harmless
# where: worker

deep = []
for _ in range(100_000):
    deep = [deep]
held = deep
None
