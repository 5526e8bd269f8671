# defaults of type parameters (from Python 3.13 on)
class Box[T = int]:
    def __init__(self, value: T) -> None:
        self.value = value


type Names[T = str] = list[T]

assert Box(1).value == 1 and repr(Names) == "Names"
