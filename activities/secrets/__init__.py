"""Known secrets, and how they are masked in everything that is shown."""
