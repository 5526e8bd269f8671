"""Give special names that are operations to variables, which the interpreter might look up."""

# stopped: refused
# because: `__getattr__` reaches into the interpreter

def __call__(*arguments): escaped()
def __enter__(*arguments): escaped()
def __getattr__(name): escaped()
