"""Change the codes of HTTP for the host, or reach the modules beside them."""

# stopped: raises AttributeError
# because: has no attribute

import http
from http import HTTPStatus
try:
    HTTPStatus.OK = 1
    escaped()
except AttributeError:
    pass
HTTPStatus.OK.phrase = "changed"  # an attribute of the user's own class
for name in ("client", "server", "cookies", "cookiejar", "IntEnum"):
    if hasattr(http, name):
        escaped()
try:
    take(getattr(HTTPStatus.__new__, "__glob" "als__"))
    escaped()
except AttributeError:
    pass
http.client
escaped()
