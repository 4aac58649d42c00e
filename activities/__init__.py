"""What workers do: a folder for each engine, and what engines share."""
