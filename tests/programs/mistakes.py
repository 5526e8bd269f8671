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
