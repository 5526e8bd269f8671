"""The way of the tables from one version to the next, one module a step; `caps.store.migrate` runs
them. A step that was released is never changed: it has run already. It uses no code of Caps, which
changes, but for the kinds of columns."""
