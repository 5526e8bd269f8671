"""Ask without end for what is denied, and wait for each answer."""

# stopped: violation flood

for number in range(1000):
    worker.ask("shell.exec", {}, request_id=f"d{number}")
