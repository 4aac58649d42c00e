"""Enrolment on the control side: tokens are minted and proofs are checked here, and only here."""
