# package: requests
# modules: requests
import requests

# %% preparing a request, reading a response
r = requests.Request("GET", "https://example.org/", params={"a": 1}).prepare()
assert r.url == "https://example.org/?a=1"
assert requests.__version__
# %% sending it
# error: the network cannot be reached from the sandbox
# why: there is no network; grant a function that fetches
requests.get("https://example.org/", timeout=5)
