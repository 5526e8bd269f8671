"""Ask for a capability after the first cell's result, before the second cell has started."""

# cells: first
# stopped: violation out_of_turn

worker.finish("first")
os.read(CHANNEL, 65536)
worker.raw(worker.touch(capability="probe.allowed"))
