# `argparse`
import argparse
import contextlib
import io

parser = argparse.ArgumentParser(prog="tool", description="A tool.")
parser.add_argument("name", help="who to greet (default: %(default)s)", nargs="?", default="you")
parser.add_argument("-n", "--count", type=int, default=1, choices=range(5))
parser.add_argument("--loud", action="store_true")
parser.add_argument("--tag", action="append", dest="tags")
group = parser.add_mutually_exclusive_group()
group.add_argument("--on", action="store_const", const=True, dest="state")
group.add_argument("--off", action="store_const", const=False, dest="state")
args = parser.parse_args(["ann", "-n", "2", "--loud", "--tag", "a", "--tag=b", "--off"])
assert vars(args) == {
    "name": "ann", "count": 2, "loud": True, "tags": ["a", "b"], "state": False
}
assert args == argparse.Namespace(**vars(args)) and "name" in args
assert repr(argparse.Namespace(a=1)) == "Namespace(a=1)"
assert parser.format_usage().startswith("usage: tool [-h]")
assert "A tool." in parser.format_help() and "(default: you)" in parser.format_help()
known, rest = parser.parse_known_args(["bob", "--other"])
assert (known.name, rest) == ("bob", ["--other"])

written = io.StringIO()
with contextlib.redirect_stderr(written):
    try:
        parser.parse_args(["--count", "many"])
        raise AssertionError
    except SystemExit as error:
        assert error.code == 2
assert "tool: error: argument -n/--count: invalid int value: 'many'" in written.getvalue()

commands = argparse.ArgumentParser(prog="git", formatter_class=argparse.RawTextHelpFormatter)
sub = commands.add_subparsers(dest="command", required=True)
commit = sub.add_parser("commit", aliases=["ci"])
commit.add_argument("-m", "--message", required=True)
commit.set_defaults(run=lambda options: options.message.upper())
options = commands.parse_args(["commit", "-m", "first"])
assert (options.command, options.run(options)) == ("commit", "FIRST")


class Pair(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, tuple(values.split("=")))


def even(text):
    if int(text) % 2:
        raise argparse.ArgumentTypeError(f"{text} is odd")
    return int(text)


own = argparse.ArgumentParser(exit_on_error=False)
own.add_argument("--pair", action=Pair)
own.add_argument("--even", type=even)
assert own.parse_args(["--pair", "a=b", "--even", "4"]) == argparse.Namespace(pair=("a", "b"), even=4)
try:
    own.parse_args(["--even", "3"])
    raise AssertionError
except argparse.ArgumentError as error:
    assert str(error) == "argument --even: 3 is odd"
