"""Ask for a capability after the first cell's result, before the second cell has started."""

# cells: first
# stopped: violation out_of_turn

liar.finish("first")
os.read(CHANNEL, 65536)
liar.raw(liar.touch(capability="probe.allowed"))
