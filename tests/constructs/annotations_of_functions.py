# `__annotations__` of functions and classes
def f(a: int) -> str: ...


class C:
    x: int = 1


assert f.__annotations__ == {"a": int, "return": str}
assert C.__annotations__ == {"x": int}


class Settings:
    host: str
    port: int = 1

    def names(self):
        return list(type(self).__annotations__)


assert Settings().names() == ["host", "port"]

f.__annotations__["b"] = "int"
del f.__annotations__["return"]
assert f.__annotations__ == {"a": int, "b": "int"}
