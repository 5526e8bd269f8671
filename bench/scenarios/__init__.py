"""Every row, by subject, in the order of the goals."""
