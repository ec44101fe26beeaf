"""The discrete Fourier transform."""
