"""One module for each package that is prepared, and the table of them. Nothing else."""
