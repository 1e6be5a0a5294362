"""Debug sessions: phase, breakpoints, stops, output and children of a debugged program."""
