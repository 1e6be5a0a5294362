"""One debug session: what the user wants joined with what the debugger does."""
