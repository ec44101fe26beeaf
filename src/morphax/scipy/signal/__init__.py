"""`morphax.scipy.signal`: convolutions, trends and spectra of signals."""

from __future__ import annotations

from ._convolution import convolve as convolve
from ._convolution import convolve2d as convolve2d
from ._convolution import correlate as correlate
from ._convolution import correlate2d as correlate2d
from ._convolution import fftconvolve as fftconvolve
from ._densities import csd as csd
from ._densities import welch as welch
from ._fourier import istft as istft
from ._fourier import stft as stft
from ._trends import detrend as detrend
