"""What kubectl does with a cluster, as plans without I/O.

The modules: exchange.py (what a plan asks for, and its theory of operation), sending.py
(which requests are sent again), failures.py, discovery.py, schemas.py, options.py,
objects.py (what became of each object), client_side.py and server_side.py (one object),
apply.py (a run).
"""
