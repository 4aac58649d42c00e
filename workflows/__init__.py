"""The flows: they decide, activities do. Deterministic, short, and replayed in the tests."""
