"""Get the hidden generator of `secrets` by a method set on its class."""

# stopped: harmless
# where: worker

import random, secrets
random.Random.choice = lambda self, items: take(self) or self._hidden
secrets.choice([1]) == 2
