"""Read a table to its end from inside the iterator of its lines."""

# stopped: harmless

import csv
class Lines:
    asked = 0
    def __iter__(self): return self
    def __next__(self):
        self.asked += 1
        if self.asked == 1: return '"a'
        if self.asked == 2:
            try: list(table)
            except ValueError: pass
        raise StopIteration
table = csv.reader(Lines())
list(table) and None
