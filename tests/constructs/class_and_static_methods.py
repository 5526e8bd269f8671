# class and static methods
class C:
    @classmethod
    def named(cls): return cls.__name__
    @staticmethod
    def two(): return 2
result = C.named(), C.two()
assert result == ('C', 2)
