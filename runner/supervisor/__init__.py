"""Conducts runs: queue, segments, hold, park and resume, recovery.

Owns when something happens, never whether it may: `policy` decides, a person approves, the broker acts.
"""
