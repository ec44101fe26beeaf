"""Tables of operations.

A row is a text and the kinds that its operands may have: a string for each, of ``b`` (bool), ``u``
(unsigned), ``i`` (int), ``f`` (float), ``c`` (complex).  Words that begin with ``$`` are replaced
by random parameters which suit the first operand; see `parameters`.
"""

from __future__ import annotations

NUMBER = "fiu"
ANY = "fiubc"
FLOAT = "f"
Row = tuple[str, tuple[str, ...]]


def calls(names: str, *kinds: str, module: str = "jnp") -> list[Row]:
    """Rows that call functions of these names."""
    operands = ", ".join(f"{{{i}}}" for i in range(len(kinds)))
    return [(f"{module}.{name}({operands})", kinds) for name in names.split()]


def texts(kinds: tuple[str, ...], *texts: str) -> list[Row]:
    """Rows of texts, for operands of these kinds."""
    return [(text, kinds) for text in texts]


UNARY = [
    *calls("sin cos tanh square abs sign negative exp arctan sinc expm1 arcsinh", "fc"),
    *calls("floor ceil trunc rint degrees exp2 cbrt reciprocal nan_to_num fabs", FLOAT),
    *calls("isnan isfinite isinf signbit logical_not sqrt log1p log", NUMBER),
    *calls("real imag conj angle iscomplex", "fc"),
    *calls("invert bitwise_count", "iub"),
    *calls(
        "relu relu6 silu gelu softplus elu selu log_sigmoid hard_tanh mish celu", "f", module="nn"
    ),
    *calls("sigmoid soft_sign leaky_relu hard_sigmoid hard_swish", "f", module="nn"),
    *calls(
        "lgamma digamma erf erfc logistic rsqrt is_finite erf_inv bessel_i1e", "f", module="lax"
    ),
    *calls("population_count clz", "iu", module="lax"),
    *texts(
        ("f",),
        "jnp.log(jnp.abs({0}) + 0.5)",
        "jnp.sqrt({0} * {0} + 1)",
        "lax.integer_pow({0}, $int)",
        "jnp.modf({0})[$bit]",
        "jnp.frexp({0})[$bit]",
        "lax.reduce_precision({0}, 5, 7)",
        "jnp.arctanh({0} / 4)",
        "lax.stop_gradient({0})",
        "jnp.nan_to_num({0}, nan=1.0, posinf=2.0)",
        "lax.round({0}, lax.RoundingMethod.TO_NEAREST_EVEN)",
        "jnp.round({0}, 1)",
        "nn.softmax({0}, axis=$axis)",
        "nn.log_softmax({0}, axis=$axis)",
        "nn.logsumexp({0}, axis=$axisopt)",
        "nn.standardize({0} * {0}, axis=$axis)",
        "{0} ** 2",
        "{0} ** 0.5",
        "2 ** {0}",
        "jnp.heaviside({0}, 0.5)",
        "nn.glu(jnp.concatenate([{0}, {0}], axis=$axis), axis=$axis)",
    ),
    *texts(
        (ANY,),
        "+{0}",
        "jnp.zeros_like({0})",
        "jnp.full_like({0}, $int)",
        "lax.optimization_barrier({0})",
        "jnp.copy({0})",
        "lax.square({0})",
        "{0} + $int",
        "{0} * $scalar",
        "$scalar - {0}",
        "{0} / 2",
        "jnp.asarray({0})",
    ),
]

BINARY = [
    *calls("add multiply subtract divide power float_power", ANY, "fiuc"),
    *calls("maximum minimum fmax fmin", ANY, ANY),
    *calls("arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside", "fi", "fi"),
    *calls("floor_divide remainder fmod", NUMBER, NUMBER),
    *calls("bitwise_and bitwise_or bitwise_xor", "iub", "iub"),
    *calls("left_shift right_shift", "iu", "iu"),
    *calls("less less_equal greater greater_equal", "fiub", "fiub"),
    *calls("equal not_equal isclose logical_and logical_or logical_xor", ANY, ANY),
    *texts(
        (ANY, ANY),
        "{0} + {1}",
        "{0} * {1}",
        "{0} == {1}",
        "jnp.where({0} != {1}, {0}, {1})",
        "jnp.where({0} == {1}, $int, {1})",
        "jnp.array_equal({0}, {1})",
    ),
    *texts(
        (NUMBER, NUMBER),
        "{0} - {1}",
        "{0} / ({1} * {1} + 1)",
        "{0} % {1}",
        "{0} // {1}",
        "divmod({0}, {1})[$bit]",
        "jnp.where({0} > {1}, {0}, $scalar)",
        "jnp.clip({0}, -1, {1})",
        "jnp.clip({0}, {1}, 2)",
        "lax.select({0} < {1}, {0} + {1}, {0} * {1})",
        "jnp.piecewise({0}, [{0} < {1}, {0} > 1], [lambda v: v * 2, 1, 0])",
        "jnp.select([{0} > 1, {0} < {1}], [{0}, {1}], 3)",
        "jnp.choose(jnp.asarray({0} > {1}).astype(int), [{0}, {1}], mode='clip')",
    ),
    *texts(("f", "i"), "jnp.ldexp({0}, {1})", "{0} ** {1}"),
    *texts(("iub", "iu"), "{0} << ({1} & 3)", "{0} >> ({1} & 3)", "{0} ** ({1} & 3)"),
    *texts(
        ("f", "f"),
        "lax.complex({0} + 0 * {1}, {1} + 0 * {0})",
        "jnp.interp({0}, jnp.arange(3.0), jnp.ravel({1})[:3])",
    ),
]  # fmt: skip

REDUCTIONS = [
    *texts(
        (ANY,),
        "jnp.sum({0}, axis=$axisopt)",
        "jnp.sum({0}, axis=$axis, keepdims=True)",
        "jnp.prod({0}, axis=$axisopt)",
        "jnp.mean({0}, axis=$axisopt)",
        "jnp.any({0}, axis=$axisopt)",
        "jnp.all({0}, axis=$axis)",
        "jnp.count_nonzero({0}, axis=$axisopt)",
        "jnp.cumsum({0}, axis=$axisopt)",
        "jnp.cumprod({0}, axis=$axis)",
        "jnp.sum({0}, axis=$axisopt, dtype=jnp.$dtype)",
        "jnp.sum({0}, where={0} != 0)",
        "jnp.cumsum({0}, axis=$axis, dtype=jnp.$dtype)",
        "lax.cumsum({0}, axis=$axis0, reverse=True)",
        "jnp.var({0}, axis=$axisopt)",
        "jnp.sum({0} ** 2, axis=$axis, initial=2)",
    ),
    *texts(
        (NUMBER,),
        "jnp.max({0}, axis=$axisopt, initial=1)",
        "jnp.max({0}, axis=$axis)",
        "jnp.min({0}, axis=$axisopt)",
        "jnp.argmax({0}, axis=$axisopt)",
        "jnp.argmin({0}, axis=$axis)",
        "jnp.ptp({0}, axis=$axis)",
        "jnp.std({0} * {0}, axis=$axisopt, correction=0)",
        "lax.cummax({0}, axis=$axis0)",
        "lax.cummin({0}, axis=$axis0, reverse=True)",
        "jnp.nanmax({0}, axis=$axis)",
        "jnp.nansum({0}, axis=$axisopt)",
        "jnp.nanmean({0}, axis=$axis)",
        "jnp.median({0}, axis=$axisopt)",
        "jnp.diff({0}, axis=$axis)",
        "jnp.quantile({0}, 0.3, axis=$axisopt)",
        "jnp.average({0}, axis=$axis)",
        "lax.reduce({0}, np.zeros((), {0}.dtype), lax.add, ($axis0,))",
        "lax.reduce({0}, np.ones((), {0}.dtype), lambda a, b: jnp.maximum(a, b), ($axis0,))",
        "lax.associative_scan(jnp.add, {0}, axis=$axis0)",
        "lax.associative_scan(lambda a, b: a * b + b, {0}, axis=$axis0)",
        "lax.reduce_window({0}, np.zeros((), {0}.dtype), lax.add, $window, $strides, 'SAME')",
        "lax.reduce_window({0}, np.ones((), {0}.dtype), lax.max, $window, $strides, 'VALID')",
    ),
    *texts(
        ("f",),
        "lax.cumlogsumexp({0}, axis=$axis0)",
        "jnp.linalg.norm({0}, axis=$axis)",
        "jnp.linalg.norm({0}.ravel(), ord=$ord)",
        "lax.reduce_window({0}, -jnp.inf, lax.max, $window, $strides, 'SAME')",
        "lax.reduce_window({0}, jnp.inf, lax.min, $window, $strides, 'VALID')",
        "jnp.trapezoid({0}, axis=$axis)",
        "nn.logsumexp({0}, axis=$axis, where={0} > 0)",
    ),
]  # fmt: skip

SHAPES = [
    *texts(
        (ANY,),
        "jnp.reshape({0}, $reshape)",
        "{0}.ravel()",
        "jnp.transpose({0}, $perm)",
        "{0}.T",
        "jnp.moveaxis({0}, $axis, 0)",
        "jnp.expand_dims({0}, $axis0)",
        "jnp.squeeze({0})",
        "jnp.broadcast_to({0}, (2, *{0}.shape))",
        "{0}[None]",
        "{0}[..., None]",
        "jnp.tile({0}, 2)",
        "jnp.repeat({0}, 2, axis=$axisopt)",
        "jnp.flip({0}, axis=$axisopt)",
        "jnp.roll({0}, $int, axis=$axisopt)",
        "jnp.rot90(jnp.atleast_2d({0}), $int)",
        "jnp.pad({0}, 1)",
        "jnp.pad({0}, (0, 1), constant_values=$int)",
        "jnp.pad({0}, 1, mode=$padmode)",
        "lax.pad({0}, jnp.asarray($int, {0}.dtype), $padding)",
        "jnp.tril(jnp.atleast_2d({0}))",
        "jnp.triu(jnp.atleast_2d({0}), 1)",
        "jnp.diag({0}.ravel()[:4])",
        "jnp.diagonal(jnp.atleast_2d({0}))",
        "jnp.trace(jnp.atleast_2d({0}))",
        "lax.rev({0}, ($axis0,))",
        "jnp.stack([{0}, {0} + {0}], axis=$axis0)",
        "jnp.split({0}, [1], axis=$axis)[$bit]",
        "lax.broadcast_in_dim({0}, (2, *{0}.shape), tuple(range(1, {0}.ndim + 1)))",
        "{0}.astype(jnp.$dtype)",
        "jnp.asarray({0}, dtype=jnp.$dtype)",
        "lax.convert_element_type({0}, jnp.$dtype)",
        "{0}.astype(jnp.$float)",
        "nn.one_hot({0}.ravel().astype(int), 3)",
        "lax.expand_dims({0}, (0,))",
        "lax.slice_in_dim({0}, 0, None, 2, axis=$axis0)",
    ),
    *texts(
        (ANY, ANY),
        "jnp.concatenate([jnp.ravel({0}), jnp.ravel({1})])",
        "jnp.concatenate([{0}, {1}], axis=$axis)",
        "jnp.stack([{0}, {1}])",
        "jnp.append({0}, {1})",
        "jnp.broadcast_arrays({0}, {1})[0]",
        "jnp.hstack([{0}, {1}])",
        "{0}.astype({1}.dtype)",
    ),
    *texts(
        ("f",),
        "lax.bitcast_convert_type({0}.astype(jnp.float32), jnp.int32) & 255",
    ),
]

ORDERS = [
    *texts(
        (NUMBER,),
        "jnp.sort({0}, axis=$axis)",
        "jnp.sort({0}, axis=$axis, descending=True)",
        "jnp.argsort({0}, axis=$axis)",
        "jnp.argsort({0}, axis=$axis, descending=True, stable=True)",
        "lax.top_k({0}, 1)[0]",
        "lax.top_k({0}, 2)[$bit]",
        "lax.sort(({0}, {0} * 2), num_keys=$one)[1]",
        "lax.sort_key_val(-{0}, {0})[1]",
        "jnp.searchsorted(jnp.sort({0}.ravel()), {0})",
        "jnp.unique({0}, size=3, fill_value=0)",
        "jnp.partition({0}, 0, axis=$axis)",
        "jnp.digitize({0}, jnp.array([-1, 0, 1]))",
        "jnp.lexsort(({0}.ravel(), ({0} * 2).ravel()))",
        "jnp.histogram({0}, bins=3, range=(-2, 2))[0]",
        "jnp.isin({0}, jnp.array([0, 1, 2], {0}.dtype))",
        "jnp.nonzero({0}, size=3, fill_value=-1)[0]",
    ),
    *texts(
        ("iub",),
        "jnp.bincount(jnp.abs({0}.ravel().astype(int)), length=4)",
    ),
    *texts(
        (NUMBER, NUMBER),
        "lax.sort(jnp.broadcast_arrays({0}, {1}), num_keys=$one)[$bit]",
        "jnp.take_along_axis({0}, jnp.argsort({0} + 0 * {1}, axis=-1), axis=-1)",
    ),
]

PRODUCTS = [
    *texts(
        ("fciu", "fciu"),
        "jnp.dot({0}, {1})",
        "{0} @ {1}",
        "jnp.outer({0}, {1})",
        "jnp.vdot({0}, {0} + 0 * jnp.sum({1}))",
        "jnp.tensordot({0}, {1}, axes=1)",
        "jnp.tensordot({0}, {1}, axes=0)",
        "jnp.einsum('...i,...i->...', {0}, {1})",
        "jnp.einsum('ij,jk->ki', {0}, {1})",
        "jnp.inner({0}, {1})",
        "jnp.matmul(jnp.atleast_2d({0}).T, jnp.atleast_2d({0}) + {1})",
        "jnp.kron({0}, {1})",
        "lax.dot_general({0}, {0} + jnp.sum({1}).astype({0}.dtype), $contract)",
        "lax.dot_general({0}, {0}, $contract, preferred_element_type=jnp.float32)",
        "jnp.convolve({0}.ravel(), {1}.ravel()[:3], mode=$convmode)",
        "jnp.correlate({0}.ravel(), {1}.ravel()[:2])",
        "jnp.cross({0}.ravel()[:3], {1}.ravel()[:3])",
        "jnp.polyval({0}.ravel()[:3], {1})",
    ),
    *texts(
        ("f",),
        "jnp.einsum('ii->i', {0} @ {0}.T)",
        "jnp.einsum('i...->...', {0})",
        "lax.conv({0}.ravel()[None, None], jnp.ones((1, 1, 2), {0}.dtype), (1,), 'SAME')",
        "lax.conv({0}.ravel()[None, None], {0}.ravel()[None, None, :2], (2,), 'VALID')",
        "lax.conv_general_dilated({0}.ravel()[None, None], {0}.ravel()[:2][:, None, None], (1,),"
        " [(1, 2)], lhs_dilation=(2,), rhs_dilation=(2,))",
        "lax.conv(jnp.atleast_2d({0})[None, None], jnp.ones((2, 1, 2, 1)), (1, 2), 'SAME')",
        "jnp.vander({0}.ravel()[:3], 3)",
        "jnp.cov(jnp.atleast_2d({0}))",
    ),
]  # fmt: skip

INDEXING = [
    *texts(
        (ANY,),
        "{0}[$index]",
        "{0}[$slice]",
        "{0}[$slice, None]",
        "{0}[..., $slice]",
        "{0}[$array]",
        "{0}[jnp.array($array), ...]",
        "{0}[jnp.array($array)[:, None]]",
        "{0}[::-1]",
        "jnp.take({0}, jnp.array($array), axis=$axisopt, mode=$takemode)",
        "jnp.take({0}, $index, axis=$axis)",
        "lax.dynamic_slice_in_dim({0}, $index, 1, axis=$axis0)",
        "lax.dynamic_index_in_dim({0}, $index, axis=$axis0, keepdims=False)",
        "lax.dynamic_update_slice_in_dim({0}, {0}[:1] * 2, $index, axis=0)",
        "{0}.at[$index].set($int)",
        "{0}.at[jnp.array($array)].add($int)",
        "{0}.at[jnp.array($array)].mul(2, mode=$scattermode)",
        "{0}.at[$slice].set({0}[$slice] * 2)",
        "{0}.at[$index].apply(lambda v: v * 3)",
        "{0}.at[jnp.array($array)].get(mode=$getmode, fill_value=7)",
        "{0}.at[..., $index].set({0}[..., $index] + 1)",
        "{0}.at[jnp.array($array)].set({0}[jnp.array($array)] * 2, unique_indices=False)",
        "jnp.where({0} == 0, 5, {0})",
        "jnp.compress(np.array([True, False, True])[:len({0})], {0}, axis=0)",
        "jnp.extract({0} == {0}, {0}, size=2, fill_value=0)",
        "jnp.fill_diagonal(jnp.atleast_2d({0}), 9, inplace=False)",
    ),
    *texts(
        (NUMBER,),
        "{0}.at[jnp.array($array)].max($int)",
        "{0}.at[jnp.array($array)].min({0}[0])",
        "{0}.at[jnp.argmax({0}.ravel()) % 2].set(1)",
        "{0}[jnp.argmin({0}, axis=0)]",
        "jax.ops.segment_sum({0}, jnp.array([0, 1, 0, 2, 1])[:len({0})], num_segments=3)",
        "jax.ops.segment_max({0}, jnp.array([0, 1, 0, 2, 1])[:len({0})], num_segments=2)",
        "jnp.take_along_axis({0}, jnp.argmax({0}, axis=$axis0, keepdims=True), axis=$axis0)",
    ),
    *texts(
        (ANY, "iu"),
        "{0}[{1}]",
        "{0}[{1} % 2]",
        "{0}.at[{1}].set(1)",
        "{0}.at[{1}].add(2, mode='drop')",
        "jnp.take({0}, {1}, mode=$takemode)",
        "lax.dynamic_slice({0}, [jnp.sum({1})] * {0}.ndim, [1] * {0}.ndim)",
        "lax.dynamic_update_slice({0}, {0}[:1], [jnp.sum({1})] * {0}.ndim)",
        "jnp.choose({1} % 2, [{0}, {0} * 2], mode='wrap')",
    ),
    *texts((ANY, "b"), "jnp.where({1}, {0}, 0)", "jnp.sum({0}, where={1})"),
]

RANDOM = [
    *texts(
        (ANY,),
        "random.uniform(random.key($seed), {0}.shape, jnp.$float)",
        "random.normal(random.key($seed), {0}.shape) + {0}",
        "random.bernoulli(random.key($seed), 0.4, {0}.shape)",
        "random.randint(random.key($seed), {0}.shape, -3, 5)",
        "random.permutation(random.key($seed), jnp.atleast_1d({0}))",
        "random.uniform(random.fold_in(random.key($seed), jnp.sum({0} != 0)), (2,))",
        "random.bits(random.split(random.key($seed), 3)[1], (2,), 'uint8')",
        "random.categorical(random.key($seed), jnp.zeros((2, 3)))",
        "random.exponential(random.key($seed), {0}.shape)",
        "random.key_data(random.split(random.key($seed)))",
        "random.choice(random.key($seed), jnp.atleast_1d({0}), (2,))",
        "random.truncated_normal(random.key($seed), -1.0, 2.0, (3,))",
        "random.gumbel(random.key($seed), (2,))",
    )
]

# Each family with how often it is used.
FAMILIES: list[tuple[int, list[Row]]] = [
    (8, UNARY),
    (9, BINARY),
    (5, REDUCTIONS),
    (5, SHAPES),
    (2, ORDERS),
    (4, PRODUCTS),
    (6, INDEXING),
    (1, RANDOM),
]
