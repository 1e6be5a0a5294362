"""`dbg web`: the live page of a workspace, served on the loopback interface to its owner.

main.py      the process: started by the daemon (`ops/web.py`), ends when nobody watches
http.py      the least of HTTP that a page needs, bounded, without anything of ours
access.py    who is let in: token, cookie, Host, Origin
server.py    the addresses of the page: files, events, operations

The process is a client of the daemon and outlives it: the page reconnects to the next one.
"""
