"""Front ends of Freezeframe: each one a loop over the table of operations."""
