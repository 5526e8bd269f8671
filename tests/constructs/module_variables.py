# `__version__`, `__all__`, `__doc__` and `__name__`
__version__ = "1.0"
__all__ = ["f"]
assert (__version__, __all__, __name__) == ("1.0", ["f"], "__main__")
