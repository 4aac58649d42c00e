"""What the command prints: lines for a person, JSON for programs; and how it asks a person."""
