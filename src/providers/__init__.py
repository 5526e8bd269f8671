"""(7) Providers: they do the work, outside the sandbox, under the scope the broker hands them."""
