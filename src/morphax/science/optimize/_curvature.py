"""What L-BFGS-B knows of the Hessian, and what it does with it within bounds.

From the last m steps S and changes of the gradient Y the Hessian is taken to be B = θ I − W M Wᵀ,
with W = (Y, θ S) and M⁻¹ = ((−D, Lᵀ), (L, θ SᵀS)); D and L are the diagonal of SᵀY and what lies
below it.  Along the path of the projected gradient x(t) = P(x − t g) the quadratic model is
piecewise a parabola: its first minimum is the Cauchy point, which says which numbers rest at a
bound.  Over the others the model is then minimised.

Reference: R. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained
optimization", SIAM Journal on Scientific Computing 16 (1995): (3.2) to (3.4), algorithm CP, and the
direct primal method of section 5.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ... import numpy as jnp


class Memory(NamedTuple):
    """The last pairs, in rows, the newest last; rows without a pair are zero."""

    steps: Any
    changes: Any
    count: Any
    theta: Any


class Model(NamedTuple):
    """B = θ I − W M Wᵀ."""

    theta: Any
    w: Any
    m: Any

    def times(self, v: Any) -> Any:
        return self.theta * v - self.w @ (self.m @ (self.w.T @ v))


def no_memory(pairs: int, x: Any) -> Memory:
    """A memory without pairs: B is the identity."""
    empty = jnp.zeros((pairs, x.size), x.dtype)
    return Memory(empty, empty, jnp.zeros((), np.int32), jnp.ones((), x.dtype))


def remember(memory: Memory, step: Any, change: Any, eps: Any) -> Memory:
    """The memory with one more pair, unless the function is not convex along the step."""
    product, square = jnp.sum(step * change), jnp.sum(change * change)
    is_convex = product > eps * square
    theta = jnp.where(is_convex, square / jnp.where(is_convex, product, 1), memory.theta)
    steps = jnp.concatenate([memory.steps[1:], step[None]])
    changes = jnp.concatenate([memory.changes[1:], change[None]])
    most = memory.steps.shape[0]
    count = jnp.minimum(memory.count + is_convex, most)
    steps = jnp.where(is_convex, steps, memory.steps)
    changes = jnp.where(is_convex, changes, memory.changes)
    return Memory(steps, changes, count, theta)


def model_of(memory: Memory) -> Model:
    """The quadratic model; rows without a pair do not count."""
    pairs = memory.steps.shape[0]
    is_used = jnp.arange(pairs) >= pairs - memory.count
    products = memory.steps @ memory.changes.T
    diagonal = jnp.where(is_used, jnp.diagonal(products), 1)
    lower = jnp.tril(products, -1)
    squares = memory.theta * memory.steps @ memory.steps.T
    squares = squares + jnp.diag(jnp.where(is_used, 0, 1).astype(squares.dtype))
    inverse = jnp.block([[-jnp.diag(diagonal), lower.T], [lower, squares]])
    w = jnp.concatenate([memory.changes.T, memory.theta * memory.steps.T], 1)
    return Model(memory.theta, w, jnp.linalg.inv(inverse))


class _Path(NamedTuple):
    """A point of the projected path, at a time at which one more number comes to its bound."""

    turn: Any
    time: Any
    point: Any
    direction: Any
    is_found: Any


def cauchy_point(model: Model, x: Any, slopes: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The first minimum along the projected gradient, and which numbers are free there."""
    limit = jnp.where(slopes < 0, high, low)
    moves = slopes != 0
    times = jnp.where(moves, (x - limit) / jnp.where(moves, slopes, 1), np.inf)
    order = jnp.argsort(times)
    direction = jnp.where(times > 0, -slopes, 0)

    def go_on(path: _Path) -> Any:
        return (path.turn <= x.size) & ~path.is_found

    def advance(path: _Path) -> _Path:
        index = order[jnp.minimum(path.turn, x.size - 1)]
        until = jnp.where(path.turn < x.size, times[index], np.inf)
        image = model.times(path.direction)
        slope = jnp.sum((slopes + model.times(path.point - x)) * path.direction)
        bend = jnp.sum(path.direction * image)
        best = jnp.where(
            slope < 0, jnp.where(bend > 0, -slope / jnp.where(bend > 0, bend, 1), np.inf), 0
        )
        room = jnp.maximum(until - path.time, 0)
        is_found = (best < room) | ~jnp.any(path.direction != 0)
        step = jnp.where(is_found, jnp.where(best < np.inf, best, 0), room)
        # Numbers that stay where they are are not to be multiplied with an infinite time.
        step = jnp.where(step < np.inf, step, 0)
        point = path.point + step * path.direction
        arrives = ~is_found & (jnp.arange(x.size) == index)
        point = jnp.where(arrives, limit, point)
        rest = jnp.where(arrives, 0, path.direction)
        time = jnp.where(is_found, path.time + step, until)
        return _Path(path.turn + 1, time, point, rest, is_found)

    zero = jnp.zeros((), np.int32)
    start = _Path(zero, jnp.zeros((), x.dtype), x, direction, jnp.zeros((), bool))
    end = lax.while_loop(go_on, advance, start)
    point = jnp.clip(end.point, low, high)
    return point, (point > low) & (point < high)


def subspace_minimum(
    model: Model, x: Any, slopes: Any, cauchy: Any, is_free: Any, low: Any, high: Any
) -> Any:
    """The minimum of the model over the free numbers, as near to it as the bounds allow."""
    reduced = jnp.where(is_free, slopes + model.times(cauchy - x), 0)
    w = jnp.where(is_free[:, None], model.w, 0)
    # (θ I − W M Wᵀ)⁻¹ by the formula of Sherman, Morrison and Woodbury.
    small = jnp.eye(w.shape[1], dtype=w.dtype) - model.m @ (w.T @ w) / model.theta
    inner = jnp.linalg.solve(small, model.m @ (w.T @ reduced))
    step = -(reduced / model.theta + w @ inner / model.theta**2)
    step = jnp.where(is_free & jnp.all(jnp.isfinite(step)), step, 0)
    limit = jnp.where(step > 0, high, low)
    moves = step != 0
    room = jnp.where(moves, (limit - cauchy) / jnp.where(moves, step, 1), np.inf)
    return cauchy + jnp.minimum(1, jnp.min(room)) * step
