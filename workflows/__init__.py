"""The workflows, a file each: they decide, activities act. Deterministic, and replayed in tests."""
