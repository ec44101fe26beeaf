"""What jnp functions refuse, with which error, and what the error says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import errors, jit

X = np.ones((2, 3), np.float32)
V = np.arange(4)
KEY = jax.random.key(0)
C = np.ones(2, np.complex64)

Call = Callable[[], Any]
ROWS: list[tuple[str, Call, type[Exception], str]] = [
    # label, call, error, part of the text
    ("list", lambda: jnp.sin([1.0]), TypeError, r"jnp\.sin[\s\S]*jnp\.array"),
    ("tuple", lambda: jnp.add((1, 2), 3), TypeError, r"jnp\.add[\s\S]*tuple"),
    ("string", lambda: jnp.sum("a"), TypeError, r"jnp\.sum[\s\S]*str"),
    ("None", lambda: jnp.exp(None), TypeError, r"jnp\.exp[\s\S]*NoneType"),
    ("shapes", lambda: jnp.add(X, V), TypeError, r"\(2, 3\), \(4,\)[\s\S]*broadcast"),
    ("axis", lambda: jnp.sum(X, axis=2), ValueError, r"jnp\.sum, argument axis[\s\S]*axis 2"),
    ("axes twice", lambda: jnp.sum(X, axis=(0, -2)), ValueError, "different axes"),
    ("axis float", lambda: jnp.sum(X, axis=1.0), TypeError, "an integer"),
    ("out sum", lambda: jnp.sum(X, out=X), NotImplementedError, "argument out"),
    ("out argmax", lambda: jnp.argmax(X, out=X), NotImplementedError, "argument out"),
    ("max empty", lambda: jnp.max(np.ones(0)), ValueError, "argument initial"),
    ("max where", lambda: jnp.max(X, where=X > 0), ValueError, "argument initial"),
    ("argmax empty", lambda: jnp.argmax(np.ones((2, 0)), 1), ValueError, "at least one element"),
    ("reshape", lambda: jnp.reshape(X, (4, 2)), TypeError, r"jnp\.reshape[\s\S]*product"),
    ("reshape twice", lambda: jnp.reshape(X, (-1, -1)), TypeError, "one of them"),
    ("reshape order", lambda: jnp.reshape(X, 6, "Z"), ValueError, "'C' or 'F'"),
    ("transpose", lambda: jnp.transpose(X, (0, 0)), (TypeError, ValueError), "different axes"),
    ("squeeze", lambda: jnp.squeeze(X, 0), ValueError, "size 1"),
    ("matrix_transpose", lambda: jnp.matrix_transpose(V), ValueError, "matrix_transpose"),
    ("broadcast_to", lambda: jnp.broadcast_to(V, (3,)), ValueError, "ends in the array's sizes"),
    ("concatenate none", lambda: jnp.concatenate([]), ValueError, "at least one array"),
    ("concatenate ranks", lambda: jnp.concatenate([X, V]), (TypeError, ValueError), "one shape"),
    ("stack shapes", lambda: jnp.stack([V, V[:2]]), (TypeError, ValueError), "one shape"),
    ("split", lambda: jnp.split(V, 3), ValueError, "equal size"),
    ("array ragged", lambda: jnp.array([[1], [1, 2]]), ValueError, "one shape"),
    ("array object", lambda: jnp.array("abc"), TypeError, r"jnp\.array"),
    ("array order", lambda: jnp.array(1, order="Q"), ValueError, "argument order"),
    ("shape", lambda: jnp.zeros((2, -1)), (TypeError, ValueError), "argument shape"),
    ("where one", lambda: jnp.where(X > 0, X), ValueError, "both, or neither"),
    ("select", lambda: jnp.select([X > 0], []), ValueError, "as many choices"),
    ("clip complex", lambda: jnp.clip(C, 0, 1), ValueError, "order"),
    ("take axis", lambda: jnp.take(X, V, 5), ValueError, "argument axis"),
    ("take_along_axis", lambda: jnp.take_along_axis(X, V, 0), ValueError, "argument indices"),
    ("compress", lambda: jnp.compress(np.ones(9) > 0, V), ValueError, "at most 4"),
    ("diag", lambda: jnp.diag(np.ones((2, 2, 2))), ValueError, "a vector or a matrix"),
    ("tril", lambda: jnp.tril(V), ValueError, "at least two axes"),
    ("vander", lambda: jnp.vander(X), ValueError, "a vector"),
    ("diag_indices_from", lambda: jnp.diag_indices_from(X), ValueError, "one size"),
    ("fill_diagonal", lambda: jnp.fill_diagonal(X, 0), NotImplementedError, "inplace=False"),
    ("nonzero scalar", lambda: jnp.nonzero(1.0), ValueError, "atleast_1d"),
    ("nonzero traced", lambda: jit(jnp.nonzero)(V), errors.ConcretizationTypeError, "size="),
    ("unique traced", lambda: jit(jnp.unique)(V), errors.ConcretizationTypeError, "size="),
    ("bincount traced", lambda: jit(jnp.bincount)(V), errors.ConcretizationTypeError, "length="),
    ("bincount floats", lambda: jnp.bincount(X[0]), TypeError, "a vector of integers"),
    ("unique nothing", lambda: jnp.unique(V[:0], size=2), ValueError, "fill_value"),
    ("searchsorted a", lambda: jnp.searchsorted(X, 1.0), ValueError, "a vector"),
    ("searchsorted side", lambda: jnp.searchsorted(V, 1, "middle"), ValueError, "side"),
    ("isin method", lambda: jnp.isin(V, V, method="guess"), ValueError, "argument method"),
    ("sort kind", lambda: jnp.sort(V, kind="quick"), TypeError, "stable"),
    ("sort scalar", lambda: jnp.sort(1.0), ValueError, "argument axis"),
    ("lexsort", lambda: jnp.lexsort([]), TypeError, "at least one"),
    ("partition", lambda: jnp.partition(V, 4), ValueError, "argument kth"),
    ("quantile method", lambda: jnp.quantile(V, 0.5, method="mode"), ValueError, "one of"),
    ("quantile complex", lambda: jnp.quantile(C, 0.5), ValueError, "order"),
    ("quantile weights", lambda: jnp.quantile(V, 0.5, weights=V), ValueError, "inverted_cdf"),
    ("quantile q", lambda: jnp.quantile(V, X), ValueError, "vector q"),
    ("matmul scalar", lambda: jnp.matmul(X, 2.0), ValueError, "at least one axis"),
    ("matmul sizes", lambda: jnp.matmul(X, X), TypeError, r"\(2, 3\) and \(2, 3\)"),
    ("matmul batch", lambda: jnp.matmul(X[:, :, None], np.ones((3, 1, 1))), TypeError, "run tog"),
    ("dot", lambda: jnp.dot(V, V[:3]), TypeError, "summed over"),
    ("inner", lambda: jnp.inner(V, V[:3]), TypeError, "summed over"),
    ("vecdot", lambda: jnp.vecdot(V, V[:3]), TypeError, "summed over"),
    ("tensordot", lambda: jnp.tensordot(X, X, 3), TypeError, "argument axes"),
    ("cross", lambda: jnp.cross(V, V), ValueError, "size 2 or 3"),
    ("einsum letters", lambda: jnp.einsum("i->i", X), ValueError, "one letter for each axis"),
    ("einsum terms", lambda: jnp.einsum("i,j", V), ValueError, "one for each operand"),
    ("einsum result", lambda: jnp.einsum("i->j", V), ValueError, "names axes"),
    ("einsum sizes", lambda: jnp.einsum("i,i", V, V[:3]), ValueError, "equal sizes"),
    ("convolve", lambda: jnp.convolve(X, V), ValueError, "two vectors"),
    ("convolve mode", lambda: jnp.convolve(V, V, "most"), ValueError, "mode"),
    ("cov", lambda: jnp.cov(np.ones((2, 2, 2))), ValueError, "a matrix"),
    ("cov weights", lambda: jnp.cov(X, aweights=V), ValueError, "one weight"),
    ("histogram", lambda: jnp.histogram(X, "auto"), TypeError, "argument bins"),
    ("interp", lambda: jnp.interp(1.0, V, V[:2]), ValueError, "one size"),
    ("interp period", lambda: jnp.interp(1.0, V, V, period=0), ValueError, "argument period"),
    ("diff", lambda: jnp.diff(V, -1), ValueError, "argument n"),
    ("gradient", lambda: jnp.gradient(X, 1.0, 2.0, 3.0), ValueError, "spacing"),
    ("gradient short", lambda: jnp.gradient(V[:1]), ValueError, "two samples"),
    ("pad mode", lambda: jnp.pad(V, 1, "mirror"), ValueError, "argument mode"),
    ("pad option", lambda: jnp.pad(V, 1, "edge", stat_length=1), ValueError, "no options"),
    ("pad widths", lambda: jnp.pad(V, (1, -1)), ValueError, "not negative"),
    ("pad floats", lambda: jnp.pad(V, 1.5), TypeError, "integers"),
    ("pad shape", lambda: jnp.pad(V, ((1, 2), (3, 4))), ValueError, "argument pad_width"),
    ("pad nothing", lambda: jnp.pad(V[:0], 1, "wrap"), ValueError, "empty axis"),
    ("cumulative_sum", lambda: jnp.cumulative_sum(X), ValueError, "an axis"),
    ("signbit", lambda: jnp.signbit(C), ValueError, "no sign"),
    ("copysign", lambda: jnp.copysign(C, C), TypeError, "real numbers"),
    ("ldexp", lambda: jnp.ldexp(X, X), ValueError, "integer x2"),
    ("isdtype", lambda: jnp.isdtype(jnp.int8, "whole"), ValueError, "argument kind"),
    ("ix_", lambda: jnp.ix_(X), ValueError, "vectors"),
    ("piecewise", lambda: jnp.piecewise(V, [V > 0, V < 0], [1]), ValueError, "one more"),
    ("norm order", lambda: jnp.linalg.norm(V, "fro"), ValueError, "argument ord"),
    ("norm axes", lambda: jnp.linalg.norm(np.ones((1, 1, 1)), 1), ValueError, "argument axis"),
    ("arange traced", lambda: jit(jnp.arange)(3), TypeError, "decide the length(.|\n)*static_arg"),
    ("zeros traced", lambda: jit(jnp.zeros)(3), TypeError, "static_argn"),
    ("eye traced", lambda: jit(jnp.eye)(3), TypeError, "static_argn"),
    ("reshape traced", lambda: jit(lambda n: jnp.reshape(V, (n, 2)))(2), TypeError, "static_argn"),
    ("repeat traced", lambda: jit(lambda n: jnp.repeat(V, n))(2), TypeError, "static_argn"),
    ("key +", lambda: KEY + 1, TypeError, "fold_in"),
    ("key -", lambda: KEY - KEY, TypeError, "fold_in"),
    ("key *", lambda: 2 * KEY, TypeError, "fold_in"),
    ("key &", lambda: KEY & 1, TypeError, "fold_in"),
    ("key neg", lambda: -KEY, TypeError, "fold_in"),
    ("key sin", lambda: jnp.sin(KEY), TypeError, "fold_in"),
    ("key sum", lambda: jnp.sum(KEY), TypeError, "fold_in"),
    ("key where", lambda: jnp.where(True, KEY, 1.0), ValueError, "fold_in"),
    ("key astype", lambda: KEY.astype("float32"), TypeError, "key_data"),
    ("view", lambda: jnp.ones(3).view(jnp.complex64), ValueError, "whole elements"),
    ("power", lambda: jnp.power(V, -1), TypeError, "y ≥ 0"),
    ("fft norm", lambda: jnp.fft.fft(X, norm="ORTHO"), ValueError, "argument norm"),
    ("fft length", lambda: jnp.fft.fft(X, 0), ValueError, "positive lengths"),
    ("fft float", lambda: jnp.fft.fft(X, 2.0), TypeError, "argument n"),
    ("fft axis", lambda: jnp.fft.ifft(X, axis=2), ValueError, "argument axis"),
    ("fft axes", lambda: jnp.fft.fft(X, axis=(0, 1)), ValueError, r"jnp\.fft\.fftn"),
    ("hfft axes", lambda: jnp.fft.hfft(X, axis=(0, 1)), ValueError, "one axis"),
    ("fftn twice", lambda: jnp.fft.fftn(X, axes=(0, -2)), ValueError, "all differ"),
    ("fftn lengths", lambda: jnp.fft.fftn(X, (2,), (0, 1)), ValueError, "a length for each axis"),
    ("fftn axis", lambda: jnp.fft.fftn(X, axes=0), TypeError, "argument axes"),
    ("fft2 axes", lambda: jnp.fft.rfft2(X, axes=(0,)), ValueError, r"two axes[\s\S]*rfftn"),
    ("fft2 vector", lambda: jnp.fft.fft2(V), ValueError, "argument axis"),
    ("fft list", lambda: jnp.fft.fft([1.0]), TypeError, r"jnp\.fft\.fft[\s\S]*jnp\.array"),
    ("rfft complex", lambda: jnp.fft.rfft(C), ValueError, "real part"),
    ("rfft empty", lambda: jnp.fft.rfft(V[:0]), ValueError, "not empty"),
    ("fft traced", lambda: jit(jnp.fft.fft)(X, 3), TypeError, "argument n"),
    ("fftfreq n", lambda: jnp.fft.fftfreq(5.5), ValueError, "a whole number"),
    ("fftfreq d", lambda: jnp.fft.rfftfreq(5, [1.0]), ValueError, "argument d"),
    ("fftfreq complex", lambda: jnp.fft.fftfreq(5, 1j), TypeError, "a real number"),
    ("fftshift", lambda: jnp.fft.fftshift(X, 2), IndexError, "argument axes"),
    ("numpy object", lambda: jnp.add(np.array([None]), 1), TypeError, r"dtype\('O'\)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_refused(call: Call, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    lines = str(caught.value).splitlines()
    assert any(re.match(r"\s+given:", line) for line in lines), "an error has four parts"
    assert any(re.match(r"\s+expected:", line) for line in lines)
    assert any(re.match(r"\s+fix:", line) for line in lines)
