"""Base of the tests with a daemon: a real client, real programs, and waits for facts."""
