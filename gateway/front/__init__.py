"""The port that everybody connects to, and what a connection may cost before it is known."""
