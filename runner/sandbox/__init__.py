"""The wall: a snapshot of the agent's directory, a container that can only read it, proof that what was asked is in force."""
