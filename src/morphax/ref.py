"""References to arrays that change in place: `jax.ref`.

ref = jax.new_ref(x);  ref[i];  ref[i] = v;  ref[...] += v
"""

from __future__ import annotations

from .core import AbstractRef as AbstractRef
from .lax.reference.ref_functions import addupdate as addupdate
from .lax.reference.ref_functions import empty_ref as empty_ref
from .lax.reference.ref_functions import free_ref as free_ref
from .lax.reference.ref_functions import freeze as freeze
from .lax.reference.ref_functions import get as get
from .lax.reference.ref_functions import new_ref as new_ref
from .lax.reference.ref_functions import set as set
from .lax.reference.ref_functions import swap as swap
from .lax.reference.references import Ref as Ref
