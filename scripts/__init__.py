"""Set-up of a machine and of this clone; standard library only, since it runs before anything is installed."""
