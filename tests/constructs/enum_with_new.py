# an enum whose members are created by `__new__`
from enum import Enum


class Code(bytes, Enum):
    def __new__(cls, number, label):
        made = bytes.__new__(cls, [number])
        made._value_ = number
        made.label = label
        return made

    LOW = (0, "low")
    HIGH = (1, "high")


assert (Code.LOW.label, Code.HIGH.value, Code(1)) == ("low", 1, Code.HIGH)
