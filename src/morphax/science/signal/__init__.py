"""`morphax.science.signal`: recursive filters, smoothing and peaks.

Coefficients of filters are constants: design them with `scipy.signal`, and pass its arrays.
"""

from __future__ import annotations

from ._both_ways import filtfilt as filtfilt
from ._both_ways import sosfiltfilt as sosfiltfilt
from ._filters import lfilter as lfilter
from ._filters import lfilter_zi as lfilter_zi
from ._filters import sosfilt as sosfilt
from ._filters import sosfilt_zi as sosfilt_zi
from ._peaks import find_peaks as find_peaks
from ._smoothing import hilbert as hilbert
from ._smoothing import savgol_coeffs as savgol_coeffs
from ._smoothing import savgol_filter as savgol_filter
