"""Get the real `type` as the class of a class."""

# stopped: raises TypeError
# because: write a class

take(int.__class__)
int.__class__('X', (), {})
