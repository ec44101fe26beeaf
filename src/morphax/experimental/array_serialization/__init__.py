"""Arrays and trees of them in files, written and read by their shards, with tensorstore.

- `pytree_serialization`: `save` and `load` a tree; start here.
- `serialization`: arrays one by one, also while the program goes on.
- `tensorstore_impl`: the same from within coroutines, and the specs that tell tensorstore where.
- `pytree_serialization_utils`: structures of trees as bytes, and futures.

Each process writes the parts that its devices hold, each different part once, and reads what its
devices shall hold: no process needs the whole, and an array may be read back over other devices
than it was written from.  The files are those of JAX, which may read ours and we its: Zarr arrays
in directories, or in an OCDBT store.

Tensorstore is optional; without it the functions say so.  Files hold numbers and names.  To read
them runs no code but what the user has registered for classes of nodes.
"""

from __future__ import annotations
