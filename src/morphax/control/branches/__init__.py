"""`cond` and `switch`: choose one of several programs at run time."""
