"""The customer's store: everything that an install keeps on the customer's side."""
