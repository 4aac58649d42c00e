"""What the Install workflow is made of: what it keeps, and how it starts runs."""
