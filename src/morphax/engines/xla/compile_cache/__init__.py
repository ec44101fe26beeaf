"""The compile cache: executables kept on disk, so that the next process need not compile them.

It is on by default, in a directory of the user's own.  `programs` is what the engine calls; below
it are `keys` (what an executable depends on), `store` (a directory of entries), `entries` (an entry
as bytes), `files` (read and written with care), `location` (which directory, and whether it may be
trusted) and `failures` (a cache that fails is reported once and never stops a program).  Only
`programs`, `loading` and `keys` touch jaxlib.

See ``docs/design/compile-cache.md``.
"""
