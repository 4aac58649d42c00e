"""What the runs that change an install share: their turn, their parts, approvals and views."""
