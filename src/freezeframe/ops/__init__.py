"""The operations: one function each, declared once."""
