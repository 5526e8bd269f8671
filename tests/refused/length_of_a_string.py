# what: `__len__` in a subclass of `str` or `bytes`
# why: methods such as `bytearray.hex` ask their argument for it in the middle of their work
# raises: TypeError: `Mine` cannot change the length of a `str`
class Mine(str):
    def __len__(self): return 0
