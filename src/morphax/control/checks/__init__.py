"""`checkify`: errors in programs as values."""
