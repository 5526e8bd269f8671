"""Keep a class that is refused when it is finished."""

# stopped: raises TypeError
# because: cannot be a slot

kept = []
class Base:
    def __init_subclass__(cls, **keywords):
        kept.append(cls)
        escaped()
class Bad(Base):
    __slots__ = ("__deepcopy__",)
