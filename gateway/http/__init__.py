"""The HTTP app behind the front, and the check of who may call its routes."""
