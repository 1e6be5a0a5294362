"""The process that owns the sessions: startup, serving, and shutdown without leftover processes."""
