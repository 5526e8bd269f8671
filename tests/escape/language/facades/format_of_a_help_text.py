"""Have the help text of an option show what is behind it."""

# stopped: harmless or raises ValueError

import argparse
parser = argparse.ArgumentParser(prog="x")
parser.add_argument("--a", type=int, help="%(container)s %(prog)s %(type)s")
parser.add_argument("--b", metavar="{0.__class__}", help="{0.__class__}")
text = parser.format_help()
"globals" in text or "module" in text
