"""Have `literal_eval` run code, or take a string that lies."""

# stopped: raises ValueError
# because: malformed node or string

import ast
class Text(str):
    def lstrip(self, *args): return self
    def __str__(self): return "1"
ast.literal_eval(Text("[escaped() for _ in '1']"))
