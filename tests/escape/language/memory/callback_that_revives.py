"""Use and change weak collections in the callbacks of their members."""

# stopped: harmless

import weakref
class Member: ...
values, keys, members, kept = weakref.WeakValueDictionary(), weakref.WeakKeyDictionary(), weakref.WeakSet(), []
def again(dead):
    one = Member()
    kept.append(one)
    values[len(kept)] = one
    keys[one] = dead
    members.add(one)
    len(values), len(keys), len(members)
    try:
        list(values.items())
    except RuntimeError:
        pass  # changed meanwhile by the next callback, as in CPython
references = []
for number in range(200):
    one = Member()
    one.own = one if number % 2 else None
    references.append(weakref.ref(one, again))
    weakref.finalize(one, again, None)
    values[number], keys[one] = one, number
    members.add(one)
del one
list(values), list(keys), list(members)
kept.clear()
len(values)
None
