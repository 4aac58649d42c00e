"""Calls to the control plane on behalf of a person: runs, plans, logs, and what refusals mean."""
