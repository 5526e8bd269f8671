"""Read what an object of ours keeps under the name of an alias's attribute."""

# stopped: raises AttributeError
# because: has no `__args__`

secret.__args__
