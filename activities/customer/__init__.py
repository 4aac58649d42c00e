"""What the customer decides and sees: policy, approvals of their own, and the worker's journal."""
