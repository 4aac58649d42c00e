"""What a person sees: lines on a terminal, or JSON for programs. Nothing here asks anybody."""
