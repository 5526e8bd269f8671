"""See whether any of the limits was forgotten.

Rlimits were set before the first line of the code.
"""

# stopped: harmless
# alone: rlimits
# control: works

import resource

# 1 for core dumps: with 0 the kernel still runs a handler that `core_pattern` pipes to.
most = {"CORE": 1, "FSIZE": 0, "NPROC": 0, "MSGQUEUE": 0, "MEMLOCK": 0, "NOFILE": 1}
held = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in most}
[name for name, limits in held.items() if limits != (most[name], most[name])]
