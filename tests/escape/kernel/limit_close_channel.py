"""Close the channel and compute on, unwatched. The host sees the end of it and kills."""

# stopped: lost
# alone: none

os.close(0)
while True:
    pass
