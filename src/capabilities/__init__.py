"""The registry, grants, and the broker that checks every call. Runs on the host."""
