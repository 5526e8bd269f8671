# numbers
import math, statistics, random
from decimal import Decimal, ROUND_HALF_UP, localcontext
from fractions import Fraction
random.seed(1)
one = random.Random(1)
with localcontext() as context:
    context.prec = 3
    third = str(Decimal(1) / 3)
result = (
    math.isclose(math.sqrt(2) ** 2, 2),
    statistics.mean([1, 2, 3]),
    str(Decimal("2.345").quantize(Decimal("0.01"), ROUND_HALF_UP)),
    third,
    str(Fraction(3, 6)),
    one.random() == random.random(),
    len(str(2**4000)),
)
assert result == (True, 2, '2.35', '0.333', '1/2', True, 1205)
