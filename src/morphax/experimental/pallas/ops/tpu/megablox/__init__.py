"""Products of matrices by groups of rows."""

from __future__ import annotations

from .gmm import gmm as gmm
