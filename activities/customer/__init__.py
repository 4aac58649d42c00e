"""What the customer decides and sees: their policy, their approvals, and the audit log."""
