"""Operations on windows that slide along axes: reductions over windows, and convolution.

`window_geometry` counts windows, `window_slices` lowers them as slices, `convolution` is the
primitive and `convolution_functions` what users call.
"""
