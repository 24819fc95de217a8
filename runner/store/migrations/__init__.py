"""Alembic's scripts: one revision a file, never changed once released."""
