"""Calls from programs back into Python: pure and impure callbacks, printing, breakpoints."""
