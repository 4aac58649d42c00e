"""The customer's store: what an install keeps, on the customer's side."""
