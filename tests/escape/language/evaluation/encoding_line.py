"""Name an encoding in which the text is another."""

# stopped: raises SyntaxError
# because: invalid syntax

exec("# coding: utf-7\ntake(+AF8-+AF8-import+AF8-+AF8-('os'))")
