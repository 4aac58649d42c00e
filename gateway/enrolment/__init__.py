"""How a worker enrols and gets credentials, and whether it may still pass."""
