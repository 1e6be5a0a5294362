"""Ways to speak to Freezeframe: each one a loop over the table of operations."""
