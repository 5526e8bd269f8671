"""What exists, what is granted, and the broker that checks every use. Runs on the host."""
