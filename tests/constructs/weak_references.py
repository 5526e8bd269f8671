# `weakref`
import weakref


class Node:
    def __init__(self, name, parent=None):
        self.name = name
        self._parent = None if parent is None else weakref.ref(parent)

    @property
    def parent(self):
        return self._parent and self._parent()

    def shout(self):
        return self.name.upper()


root = Node("root")
leaf = Node("leaf", root)
assert leaf.parent is root and weakref.ref(root) == weakref.ref(root)
by_name = weakref.WeakValueDictionary(root=root, leaf=leaf)
sizes = weakref.WeakKeyDictionary({root: 1, leaf: 2})
known = weakref.WeakSet([root, leaf])
method, stand_in, said = weakref.WeakMethod(root.shout), weakref.proxy(root), []
seen = weakref.ref(root, lambda dead: said.append(dead() is None))
last = weakref.finalize(root, said.append, "gone")
assert method()() == "ROOT" and stand_in.name == "root" and last.alive and len(known) == 2
del root
assert leaf.parent is None and sorted(said, key=str) == [True, "gone"] and not last.alive
assert list(by_name) == ["leaf"] and list(sizes.values()) == [2] and list(known) == [leaf]
try:
    stand_in.name
except ReferenceError:
    pass
