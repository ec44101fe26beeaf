"""What special functions are worth: how many units in the last place they may be off, by kind.

`ULPS` is the one table of tolerances of values in float64, eager and compiled; the truth is that of
SciPy.  Where it is not exact itself the truth stands here, computed with 40 digits by mpmath.
"""

from __future__ import annotations

# Units of 2⁻⁵², by kind; the rest is one exponential or logarithm, or SciPy's own code.
ORDINARY = 4
ULPS = {
    # By exp(log Γ): the error of the logarithm is as many times larger as it is.
    "gamma function": (128, ("beta", "betaln", "comb", "factorial", "gamma", "gammaln", "poch")),
    # XLA's polynomial in float64.
    "digamma": (8, ("digamma",)),
    # A continued fraction or series of many terms, and in XLA a power of large exponent.
    "incomplete integral": (32, ("betainc", "gammainc", "gammaincc")),
    "exponential integral": (16, ("exp1", "expi", "expn")),
    "normal integral": (32, ("owens_t",)),
    # Steps of a differential equation, each of which rounds; near zeros digits are lost.
    "hypergeometric": (2**16, ("hyp1f1", "hyp2f1")),
}
BY_NAME = {name: ulps for ulps, names in ULPS.values() for name in names}

# (operands, value); SciPy has 13 digits of Ei near its zero and far out, and of (z)ₘ for large z.
EXPI = (
    ((0.3725,), -2.8874183188745963e-05),
    ((0.37,), -0.009790148500068083),
    ((0.38,), 0.02901122141928304),
    ((0.9,), 1.6228117136968676),
    ((41.0,), 1.6006649143245042e16),
    ((7.0,), 191.5047433355014),
)
POCH = (
    ((0.3, 2.5), 0.5604051902745265),
    ((40.0, -3.5), 3.0289416243886294e-06),
    ((-2.5, 0.7), -3.372534117194584),
)
HYP1F1 = (
    ((1.0, 2.0, 1.0), 1.7182818284590453),
    ((0.5, 1.5, -30.0), 0.16180215937964007),
    ((2.5, 0.3, 40.0), 1.9197732919166454e21),
    ((-7.3, 1.2, 25.0), -24250.160841404668),
    ((19.7, 7.1, -12.2), 3.707116057079479e-09),
    ((4.0, 18.0, 43.8), 2148991045.994563),
    ((-0.5, -0.5, 2.0), 7.38905609893065),
    ((3.5, -4.2, -20.0), -0.43854437903582183),
    ((-9.82, -14.62, -55.1), 5381801.198865416),
    ((0.001, 2.0, 500.0), 5.675338853029525e208),
    ((1.0, 2.0, -100000.0), 1e-05),
    ((-11.0, 18.0, 6.3), 0.0008063847309006895),
    ((30.0, 2.0, 50.0), 1.6316196950369385e43),
    ((2.0, 5.5, -700.0), 3.191400257642208e-05),
    ((-40.5, 3.0, 10.0), 0.048063486724330064),
    ((5.0, 2.0, -8.0), -0.00011182087596750395),
)
HYP2F1 = (
    ((1.0, 1.0, 2.0, 0.5), 1.3862943611198906),
    ((0.5, 0.5, 1.0, 0.999999), 5.280157154762713),
    ((2.3, -1.6, 1.2, 0.97), -0.11797195415337215),
    ((6.2, 5.2, 0.2, -600000.0), -1.5196579478332726e-34),
    ((5.3, 6.3, 0.4, -9.5), -2.0039484885135763e-09),
    ((9.9, 9.4, 5.8, 0.98), 4.445276250027909e23),
    ((3.0, 3.0, 4.0, -3.2), 0.03505831881207135),
    ((-5.0, -4.0, 2.0, -0.13), 0.016315609999999977),
    ((-2.0, 1.0, 3.0, 5.0), 1.8333333333333333),
    ((1.5, 2.5, 4.0, -1.0), 0.5008617016632886),
    ((-8.1, -14.3, -11.3, 0.876), 0.03371201510339638),
    ((0.2, 0.3, -4.5, -2.0), 1.0339801224127925),
    ((1.0, 2.0, 3.5, 1.0), 5.0),
    ((20.5, -18.2, 3.3, 0.4), -0.0011849994697124787),
    ((1.0, 2.0, 3.0, 0.3), 1.2594431986384973),
    ((0.1, 0.2, 0.3, 0.999999999999), 2.8898097953053954),
)
TRUTHS = {"expi": EXPI, "poch": POCH, "hyp1f1": HYP1F1, "hyp2f1": HYP2F1}
