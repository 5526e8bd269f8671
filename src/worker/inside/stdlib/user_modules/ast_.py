"""`ast` of user space: values of literals.

Trees are left out: our own compiler uses the classes of the nodes, and code could change them.
"""

from __future__ import annotations

from caps.worker.inside.stdlib.user_modules.native import literal_eval

__all__ = ["literal_eval"]
