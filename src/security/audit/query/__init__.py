"""Reading a log back: filters, statistics, following. Verifies nothing."""
