# %% a missing import of defaultdict
# ends: write `from collections import defaultdict` first
groups = defaultdict(list)
# %% a missing import of Optional
# ends: write `from typing import Optional` first
def find(name: str) -> Optional[str]:
    return None
found: dict[str, Optional[str]] = dict[str, Optional[str]]()  # from 3.14 on, the first to be read
# %% a missing import of a module
# ends: write `import json` first
print(json.dumps({"a": 1}))
# %% datetime used as the class, without its import
# ends: write `from datetime import datetime` first
print(datetime.now().year)
# %% numpy by its usual name, without its import
# ends: `np` is usually `numpy`; a policy can grant it: "modules": ["numpy"]
print(np.mean([1, 2, 3]))
# %% pandas without a grant
# ends: a policy can grant it: "modules": ["pandas"]
import pandas as pd

print(pd.DataFrame({"a": [1]}))
# %% Markdown fences around the code
# ends: remove the Markdown fences around the code
```python
print(1)
```
# %% a misspelt builtin
# ends: did you mean `print`?
prnt("x")
# %% a misspelt variable
# ends: did you mean `total`?
total = 3
print(totl)
# %% a misspelt method
# ends: did you mean `append`?
items = []
items.apend(1)
# %% a misspelt module
# ends: did you mean `collections`?
import colections
# %% a misspelt name of a module
# ends: did you mean `sqrt`?
import math

print(math.sqr(4))
# %% a coroutine that was not awaited
# ends: the call was not awaited; write `await` before it
async def fetch():
    return [1, 2]


print(len(fetch()))
# %% await in a plain function
# ends: `await` belongs into an `async def`
def main():
    await other()
# %% the print statement of Python 2
# ends: Missing parentheses in call to 'print'
print "hello"
# %% raw_input of Python 2
# ends: the caller can give values as `inputs`
name = raw_input("Name: ")
# %% a bare star import
# ends: name what you import
from math import *
# %% a finaliser
# ends: use a context manager
class File:
    def __del__(self):
        print("closed")
# %% the line of an error by its traceback
# ends: `traceback.extract_tb` shows the lines of an error
try:
    1 / 0
except ZeroDivisionError as error:
    print(error.__traceback__.tb_lineno)
# %% a database in a file
# ends: only ":memory:" can be opened here
import sqlite3

db = sqlite3.connect("app.db")
# %% a dump of a database
import sqlite3

con = sqlite3.connect(":memory:")
con.row_factory = sqlite3.Row
con.executescript("""
create table "odd ""name" (id integer primary key autoincrement, "a b" text, x real, raw blob);
create table empty (x);
create index i on empty (x);
create view v as select 1;
""")
row = ("it's \"quoted\"", None, b"\x00\xff")
con.execute('insert into "odd ""name" ("a b", x, raw) values (?, ?, ?)', row)
print("\n".join(con.iterdump()))
copy = sqlite3.connect(":memory:")
copy.executescript("".join(con.iterdump()))
print(copy.execute('select * from "odd ""name"').fetchall())
# %% writing a log file
# ends: there are no files here
import logging

logging.basicConfig(filename="app.log", level=logging.INFO)
# %% a window
# ends: there is no display here
import tkinter as tk
# %% sending mail
# ends: there is no network here
import smtplib
# %% a file that may exist
# ends: a policy may grant `caps.files.stat` instead
import os

print("there" if os.path.exists("data.csv") else "not there")
# %% the class of a formatter of strings
# ends: use an f-string or `str.format`
import string

print(string.Formatter().format("{}", 1))
# %% a dataclass made by a call
# ends: write a class statement with `@dataclass`
from dataclasses import make_dataclass
# %% the hint is in the text of a caught error
try:
    undefined
except NameError as error:
    print(type(error).__name__)
# %% a traceback of some frames
import traceback


def load(path):
    return parse(path)


def parse(path):
    return check(path)


def check(path):
    raise ValueError(f"no header in {path}")


try:
    load("a.csv")
except ValueError as error:
    for limit in (1, 2, -1, 0, 9, None):
        print(traceback.format_exc(limit=limit))
    traceback.print_exc(limit=-2)
    print("".join(traceback.format_exception(error, limit=1)))
    print("".join(traceback.format_tb(error.__traceback__, 2)))
    traceback.print_tb(error.__traceback__, limit=-1)
# %% causes with a traceback of some frames
import traceback


def load(name):
    try:
        find(name)
    except KeyError as error:
        raise RuntimeError(f"no setting `{name}`") from error


def find(name):
    return {}[name.upper()]


try:
    load("host")
except RuntimeError:
    traceback.print_exc(limit=1)
    print(traceback.format_exc(chain=False, limit=1))
# %% what a syntax error says of text that is evaluated
for text in ("1 +", "(1", "x = 1", "a b", "é é"):
    try:
        eval(text)
    except SyntaxError as error:
        print(error, error.args, error.msg, error.lineno, error.offset, error.text, error.filename)
for text in ("x = = 1", "if x\n  pass", "x=1\n  y=2", "break", "def f():\nx=1", "1 = x"):
    try:
        exec(text)
    except SyntaxError as error:
        print(type(error).__name__, error, error.msg, error.lineno, error.text)
# %% a syntax error in text that is evaluated
print(eval("2 *"))
# %% warnings that are printed
import warnings


class Old(UserWarning): ...


def old():
    warnings.warn("use new", DeprecationWarning, stacklevel=2)


warnings.warn("careful")
old()
for _ in range(2):
    warnings.warn("again")
warnings.warn(
    Old("on two lines")
)
