"""Be interrupted while much is printed and collected, and have a message cut or sent twice."""

# stopped: limited
# where: worker

import sys

class Printer:
    def __str__(self):
        print("inner")
        return "x" * 5000

def generate():
    try:
        while True:
            yield 1
    finally:
        print("collected in the middle of a message")

while True:
    try:
        while True:
            left = generate()
            next(left)
            del left
            print(Printer(), flush=True)
            sys.stdout.write("y" * 20000)
            sys.stdout.flush()
    except BaseException:
        pass
