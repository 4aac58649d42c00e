"""Enrolment on the control side: the only place that mints tokens and checks proofs."""
