"""`morphax.scipy.sparse`: linear systems whose matrix is known by what it does to vectors."""

from __future__ import annotations

from . import linalg as linalg
