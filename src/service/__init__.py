"""The HTTP service: sign-in, routes, and the executions that they start. `caps serve` starts it.

No rule about what code may do is here: every use of a power goes through the runtime.
"""
