"""The door for programs: HTTP over a unix socket, routes as a table with their access.

Owns who may ask what, by the kernel's word; parses and bounds every body before the supervisor sees it.
"""
