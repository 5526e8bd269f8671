# package: polars
# modules: polars
# refused: module `polars` has started
# why: it starts a thread when it is loaded, and no setting forbids that; use pandas
