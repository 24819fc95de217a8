"""Telling people that something needs them: what is said, when, to which channel, until it arrived (C1, C4, C6).

A channel decides nothing and holds nothing up: notices come from rows, and whatever becomes of one changes no call.
"""
