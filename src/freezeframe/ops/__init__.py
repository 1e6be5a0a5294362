"""The vocabulary: one function per operation, declared once."""
