"""Transformations of programs: forward and reverse derivatives, batching.

Each is a trace that rewrites one operation at a time into operations of its parent, by fragments
that are made once per signature and spliced (see `core.trace`).  Start with `jvp`, the simplest;
then `linearize` and `transposition`, which together are reverse mode; then `batching`.
"""
