# -*- coding: unicode_escape -*-
"""Declare an encoding in which the source is another one."""

# stopped: harmless

x = "\u0022\u000aescaped()\u000a\u0022"
None
