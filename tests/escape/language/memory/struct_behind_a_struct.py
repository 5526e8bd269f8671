"""Have a Struct of ours put the library's Struct into an object of one's own."""

# stopped: raises TypeError
# because: a `Struct` was due, not a `C`

import struct

class C: pass

c = C()
struct.Struct.__init__(c, "i")
c._struct.pack(1)
escaped()
