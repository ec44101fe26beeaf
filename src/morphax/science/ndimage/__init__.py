"""`morphax.science.ndimage`: filters of images of any number of axes."""

from __future__ import annotations

from ._correlation import convolve as convolve
from ._correlation import convolve1d as convolve1d
from ._correlation import correlate as correlate
from ._correlation import correlate1d as correlate1d
from ._correlation import laplace as laplace
from ._correlation import prewitt as prewitt
from ._correlation import sobel as sobel
from ._geometry import affine_transform as affine_transform
from ._geometry import rotate as rotate
from ._geometry import shift as shift
from ._geometry import zoom as zoom
from ._ranks import maximum_filter as maximum_filter
from ._ranks import maximum_filter1d as maximum_filter1d
from ._ranks import median_filter as median_filter
from ._ranks import minimum_filter as minimum_filter
from ._ranks import minimum_filter1d as minimum_filter1d
from ._ranks import percentile_filter as percentile_filter
from ._ranks import rank_filter as rank_filter
from ._smoothing import gaussian_filter as gaussian_filter
from ._smoothing import gaussian_filter1d as gaussian_filter1d
from ._smoothing import gaussian_laplace as gaussian_laplace
from ._smoothing import uniform_filter as uniform_filter
from ._smoothing import uniform_filter1d as uniform_filter1d
