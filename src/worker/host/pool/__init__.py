"""The stock of spare workers, leases of sessions, and compiled programs. Supervises nothing."""
