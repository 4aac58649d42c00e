"""Plans, as all engines share them: keeping, comparing and showing them, and recording results."""
