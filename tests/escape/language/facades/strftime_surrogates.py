"""Break the C library by a format of surrogates."""

# stopped: harmless

import time
time.strftime("\ud800%Y")
None
