"""Put the generated method under another name into a library's class."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Secret`

from dataclasses import dataclass

@dataclass
class Mine:
    _hidden: str

type(secret).change = Mine.__init__
secret.change("mine")
escaped()
