"""The Debug Adapter Protocol.

messages    message types, and the text of an adapter's error
connection  matches responses to requests; no I/O
channel     a connection on a stream, used by the backend
types       TypedDicts, generated from the protocol's schema
"""
