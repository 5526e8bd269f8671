"""What makes classes other than a class statement, and what their annotations mean."""
