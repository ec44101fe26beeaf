"""`morphax.science.interpolate`: piecewise polynomials through data, and splines."""

from __future__ import annotations

from ._bsplines import BSpline as BSpline
from ._cubic import Akima1DInterpolator as Akima1DInterpolator
from ._cubic import CubicHermiteSpline as CubicHermiteSpline
from ._cubic import CubicSpline as CubicSpline
from ._cubic import PchipInterpolator as PchipInterpolator
from ._piecewise import PPoly as PPoly
from ._spline_through import make_interp_spline as make_interp_spline
