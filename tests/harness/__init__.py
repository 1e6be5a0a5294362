"""What tests with a daemon stand on: a real client, real programs, and waits for facts."""
