"""The HTTP app behind the front, and who may call its routes."""
