"""Copy a guard by the copy that the library makes of a field."""

# stopped: harmless

import dataclasses

@dataclasses.dataclass
class C:
    function: object = eval

if dataclasses.asdict(C())["function"] is not eval:
    escaped()
