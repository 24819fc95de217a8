"""Long campaigns against the real parts: each has a make target, prints a table and writes nothing it does not remove."""
