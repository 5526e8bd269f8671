"""Ask for the next batch from inside the iterator of which it is made, which frees the iterator."""

# stopped: harmless
# where: worker

import itertools


class Source:
    def __init__(self):
        self.asked = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        if self.asked == 2:
            try:
                next(batches)
            except ValueError:
                pass
            return 2
        if self.asked == 3:
            raise ValueError
        return self.asked


# Older versions of Python have no `batched`.
make = getattr(itertools, "batched", itertools.islice)
for _ in range(50):
    batches = make(Source(), 5)
    try:
        list(batches)
    except ValueError:
        pass
    others = [bytearray(60) for _ in range(50)]
