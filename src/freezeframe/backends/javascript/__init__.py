"""What JavaScript debuggers need from the source: functions, declarations, what is caught."""
