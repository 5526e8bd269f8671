"""What modules in user space are built on where they need the interpreter or a library in C.

Their code runs with our powers. It takes plain values, checks each of them, and never calls user
code while a library in C is at work on the same object.
"""
