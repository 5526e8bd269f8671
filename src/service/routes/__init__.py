"""The routes, one module a resource. Each says which role it needs."""
