"""Get the real dictionary by a comparison."""

# stopped: harmless

class Spy:
    def __eq__(self, other): take(other); return "__class__" in other
    def __ror__(self, other): take(other); return "__class__" in other
class C: pass
(C().__dict__ == Spy()) or (C().__dict__ | Spy()) or (vars(C) == Spy())
