"""The process that holds the sessions: how it starts, serves, and ends without leaving anything."""
