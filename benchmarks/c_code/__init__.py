"""`export_c` against C written by hand: ``python -m benchmarks.c_code``."""
