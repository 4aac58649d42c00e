"""Activities for the Install workflow: its open runs, schedules, stacks, and its worker."""
