"""Enrolment and credentials: how a worker gets one, and whether it may still pass."""
