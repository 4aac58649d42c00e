"""Activities around the Install workflow: its open runs, the turn's holder, the worker itself."""
