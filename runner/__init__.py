"""runner: a supervisor that hosts AI agents other people can write to.

Nothing inside an agent's container can change anything outside it; only the supervisor acts.
"""
