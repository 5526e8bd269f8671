# `__new__` that creates one instance only
class Single:
    _made = None

    def __new__(cls):
        if cls._made is None:
            cls._made = super().__new__(cls)
        return cls._made


assert Single() is Single()
