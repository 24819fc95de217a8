"""The door for people: one file per group of verbs. Everything shown goes through render, everything done through the API."""
