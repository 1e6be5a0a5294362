"""The Debug Adapter Protocol.

framing     bytes in, message dicts out
messages    what a message is, and what an adapter's error says
connection  which answer belongs to which request; no I/O
channel     a connection on a stream: what a backend calls
types       TypedDicts, generated from the protocol's schema
"""
