"""The error function and its complement."""

from __future__ import annotations

from typing import Final

from .exponential import exp_in_range
from .kernel import F32, F64, Lanes

# Of erf x / x − 1, in x², up to 1: an error of 1.2e-9.
_NEAR: Final = (
    *(7.85385994935249e-5, -0.00080101932791852078, 0.0051883276580391487),
    *(-0.026853811929250811, 0.11283585148789106, -0.37612625824302961, 0.12837916572672996),
)
# Of 1 − erf x, in x − 2.5, from 1 up to 4: an error of 6e-10.
_FAR: Final = (
    *(3.4916666e-7, -8.87712782e-7, -3.44631689e-6, 1.57013247e-5, -7.80585768e-6),
    *(-8.10485861e-5, 2.53499028e-4, -2.58804001e-4, -5.44593227e-4, 2.79760826e-3),
    *(-6.11656409e-3, 8.62258599e-3, -8.35021568e-3, 5.44569097e-3, -2.17827833e-3),
    4.06952321e-4,
)
# From before here on erf is 1 in float32.
_ONE: Final = 4.0
# Of exp(x²) erfc x, in (x − 3) / (x + 3), up to 10.1: a relative error of 1.4e-9.
_SCALED: Final = (
    *(5.586357398605093e-5, 2.87573552055046e-5, -0.00059462623753775897),
    *(0.00071578673085933761, 0.0042689192484482837, -0.024394238178949574),
    *(0.07166585586109991, -0.1501157816919508, 0.24560379806290522),
    *(-0.32623356382446913, 0.17900115126016456),
)
# From before here on erfc is 0 in float32.
_ZERO: Final = 10.1


def erf(x: Lanes) -> Lanes:
    """Erf x of float32: one polynomial up to 1, another one beyond."""
    magnitude = x.call("fabs").at_most(_ONE)
    near = magnitude.times_plus((magnitude * magnitude).polynomial(_NEAR), magnitude)
    far = 1.0 - (magnitude - 2.5).polynomial(_FAR)
    return near.where(magnitude < 1.0, far).with_sign_of(x)


def erfc(x: Lanes) -> Lanes:
    """Erfc x of float32: that of |x| as ``exp(−x²)`` times a polynomial in (x − 3) / (x + 3)."""
    wide = x.to(F64)
    magnitude = wide.call("fabs").at_most(_ZERO)
    t = (magnitude - 3.0) / (magnitude + 3.0)
    above = exp_in_range(-(magnitude * magnitude), 4) * t.polynomial(_SCALED)
    return (2.0 - above).where(wide < 0.0, above).to(F32)
