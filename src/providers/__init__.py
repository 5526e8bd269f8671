"""(7) Providers do the work, outside the sandbox, under the scope that the broker passes."""
