"""Corrupt memory by a group whose `split` answers with no tuple."""

# stopped: raises TypeError
# because: plain exception groups only

class G(ExceptionGroup):
    def split(self, kind): return 5.5
try:
    raise G("g", [ValueError()])
except* ValueError:
    escaped()
