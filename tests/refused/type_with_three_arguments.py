# what: `type(name, bases, namespace)`
# why: it creates classes that the compiler has not seen; write a class statement
# raises: TypeError: `type` takes one argument
type("C", (), {})
