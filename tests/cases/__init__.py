"""Tables of operations; each record drives all tests of one operation."""
