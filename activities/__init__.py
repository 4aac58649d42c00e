"""What workers do: one folder per engine, and what the engines share."""
