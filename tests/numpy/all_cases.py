"""All calls of the tables."""

from __future__ import annotations

from tests.numpy.case import JnpCase
from tests.numpy.tables import (
    editing,
    elementwise,
    fourier,
    linalg,
    linalg_spectral,
    methods,
    products,
    reductions,
    structure,
)

TABLES = (
    *(elementwise, structure, reductions, products, methods, editing, fourier),
    *(linalg, linalg_spectral),
)
CASES: list[JnpCase] = [case for table in TABLES for case in table.CASES]
