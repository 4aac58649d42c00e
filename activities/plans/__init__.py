"""What engines share of plans: how they are kept, compared, shown, and what came of them."""
