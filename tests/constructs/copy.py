# copy
import copy
class C:
    pass
c = C()
c.items = [1]
d = copy.deepcopy(c)
d.items.append(2)
result = (c.items, copy.copy([1]))
assert result == ([1], [1])
