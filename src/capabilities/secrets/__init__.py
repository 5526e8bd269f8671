"""(7) Secrets by handle: the table of handles, filling values in, masking them. No policy is here.

`providers/secrets` gives handles to code; a provider that sends a header fills them in. Nothing in
this package may reach a worker, and no value may reach an answer, an error, a record or a span.
"""
