"""Actions: steps of script, in the customer's account, each run once."""
