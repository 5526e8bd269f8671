"""Memory limits of workers by cgroup, with the rlimit as the fallback."""
