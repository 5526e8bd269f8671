# what: `type(name, bases, namespace)`
# why: it makes classes that no compiler has seen; write a class statement
# raises: TypeError: `type` takes one argument
type("C", (), {})
