"""`morphax.numpy.linalg`: linear algebra."""

from .norms import norm as norm
