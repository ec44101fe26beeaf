"""Memory and communication of five layouts: by formula, and as the compiler has it.

The model is a chain of blocks x + tanh(x U) D with U of w × h and D of h × w numbers of four bytes;
see docs/design/scaling.md.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.sharding import Mesh

BYTES = 4
Collectives = Counter[tuple[str, int]]


class Sizes(NamedTuple):
    """Of a model and its batch.

    Args:
        width, hidden: w and h.
        layers: how many blocks.
        rows: b, of each device, or of each micro-batch.
        capacity: rows that a device sends to each expert.
        tensor: how many devices share a block, if they do.
    """

    width: int = 64
    hidden: int = 256
    layers: int = 2
    rows: int = 4
    capacity: int = 2
    tensor: int = 4

    @property
    def parameters(self) -> int:
        """Bytes of all blocks."""
        return BYTES * 2 * self.width * self.hidden * self.layers

    @property
    def block(self) -> int:
        """Bytes of one block."""
        return BYTES * 2 * self.width * self.hidden

    @property
    def activations(self) -> int:
        """Bytes of b rows."""
        return BYTES * self.rows * self.width


class Need(NamedTuple):
    """What a device holds of parameters and batch; and its collectives, by kind and bytes."""

    held: int
    collectives: Collectives


def data_parallel(n: int, s: Sizes) -> Need:
    sums: Collectives = Counter({("all-reduce", s.parameters): 1} if n > 1 else {})
    return Need(s.parameters + s.activations, sums)


def tensor_parallel(n: int, s: Sizes) -> Need:
    m = min(n, s.tensor)
    rows = m * s.activations
    sums: Collectives = Counter()
    if m > 1:
        # Forwards for each block, backwards for each but the first.
        sums["all-reduce", rows] += 2 * s.layers - 1
    if n > m:
        sums["all-reduce", s.parameters // m] += 1
    return Need(s.parameters // m + rows, sums)


def fully_sharded(n: int, s: Sizes) -> Need:
    moved: Collectives = Counter()
    if n > 1:
        moved["all-gather", s.block // 2] += 2 * s.layers
        moved["all-reduce", s.parameters] += 1
    return Need(s.parameters // n + s.activations, moved)


def pipeline(n: int, s: Sizes) -> Need:
    """One block for each device; communication is that of a tick, forwards."""
    moved: Collectives = Counter()
    if n > 1:
        moved["collective-permute", s.activations] += 2
        moved["all-reduce", s.activations] += 1
    return Need(s.block + 2 * n * s.activations, moved)


def experts(n: int, s: Sizes) -> Need:
    """One block for each device, of which each row goes to one."""
    sent = BYTES * n * s.capacity * s.width
    moved: Collectives = Counter({("all-to-all", sent): 2} if n > 1 else {})
    rows = n * s.capacity
    return Need(s.block + BYTES * rows * (s.width + n * s.capacity), moved)


def _loss(parameters: Any, x: Any, used: Callable[[Any], Any]) -> Any:
    for up, down in parameters:
        x = x + jnp.tanh(x @ used(up)) @ used(down)
    return jnp.square(x).sum()


def _step(parameters: Any, x: Any, used: Callable[[Any], Any] = lambda w: w) -> Any:
    gradients = jax.grad(_loss)(parameters, x, used)
    return jax.tree.map(lambda w, d: w - 0.1 * d, parameters, gradients)


def _array(mesh: Mesh, shape: tuple[int, ...], *spec: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, P(*spec)))


def _blocks(mesh: Mesh, s: Sizes, up: P, down: P) -> Any:
    pair = _array(mesh, (s.width, s.hidden), *up), _array(mesh, (s.hidden, s.width), *down)
    return [pair] * s.layers


def _mesh(devices: Any, **axes: int) -> Mesh:
    return Mesh(np.array(devices).reshape(tuple(axes.values())), tuple(axes))


def data_parallel_program(devices: Any, s: Sizes) -> Any:
    mesh = _mesh(devices, data=len(devices))
    x = _array(mesh, (s.rows * len(devices), s.width), "data")
    return jax.jit(_step).lower(_blocks(mesh, s, P(), P()), x)


def tensor_parallel_program(devices: Any, s: Sizes) -> Any:
    m = min(len(devices), s.tensor)
    mesh = _mesh(devices, data=len(devices) // m, model=m)
    x = _array(mesh, (s.rows * len(devices), s.width), "data")
    return jax.jit(_step).lower(_blocks(mesh, s, P(None, "model"), P("model")), x)


def fully_sharded_program(devices: Any, s: Sizes) -> Any:
    mesh = _mesh(devices, data=len(devices))
    x = _array(mesh, (s.rows * len(devices), s.width), "data")
    parameters = _blocks(mesh, s, P("data"), P("data"))
    whole = NamedSharding(mesh, P())

    def step(parameters: Any, x: Any) -> Any:
        return _step(parameters, x, lambda w: lax.with_sharding_constraint(w, whole))

    kept = jax.tree.map(lambda w: w.sharding, parameters)
    return jax.jit(step, out_shardings=kept).lower(parameters, x)


def pipeline_program(devices: Any, s: Sizes) -> Any:
    n = len(devices)
    mesh = _mesh(devices, stage=n)
    split = NamedSharding(mesh, P("stage"))

    def run(up: Any, down: Any, batches: Any) -> Any:
        def tick(state: Any, batch: Any) -> Any:
            state = jnp.roll(state, 1, 0).at[0].set(batch)
            state = lax.with_sharding_constraint(state, split)
            hidden = jnp.tanh(jnp.einsum("sbw,swh->sbh", state, up))
            state = state + jnp.einsum("sbh,shw->sbw", hidden, down)
            return state, state[-1]

        rest = jnp.zeros((n - 1, s.rows, s.width))
        empty = jnp.zeros((n, s.rows, s.width))
        return lax.scan(tick, empty, jnp.concatenate([batches, rest]))[1][n - 1 :]

    return jax.jit(run).lower(
        _array(mesh, (n, s.width, s.hidden), "stage"),
        _array(mesh, (n, s.hidden, s.width), "stage"),
        _array(mesh, (2 * n, s.rows, s.width)),
    )


def experts_program(devices: Any, s: Sizes) -> Any:
    n = len(devices)
    mesh = _mesh(devices, expert=n)
    by_expert, by_group = NamedSharding(mesh, P("expert")), NamedSharding(mesh, P(None, "expert"))

    def run(up: Any, down: Any, x: Any, choice: Any) -> Any:
        sent = jnp.einsum("gtec,gtw->egcw", choice, x)
        sent = lax.with_sharding_constraint(sent, by_expert)
        hidden = jnp.tanh(jnp.einsum("egcw,ewh->egch", sent, up))
        back = jnp.einsum("egch,ehw->egcw", hidden, down)
        back = lax.with_sharding_constraint(back, by_group)
        return jnp.einsum("gtec,egcw->gtw", choice, back)

    rows = n * s.capacity
    return jax.jit(run).lower(
        _array(mesh, (n, s.width, s.hidden), "expert"),
        _array(mesh, (n, s.hidden, s.width), "expert"),
        _array(mesh, (n, rows, s.width), "expert"),
        _array(mesh, (n, rows, n, s.capacity), "expert"),
    )


LAYOUTS = {
    "data parallel": (data_parallel, data_parallel_program),
    "tensor parallel": (tensor_parallel, tensor_parallel_program),
    "fully sharded": (fully_sharded, fully_sharded_program),
    "pipeline": (pipeline, pipeline_program),
    "experts": (experts, experts_program),
}

_KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
_COLLECTIVE = re.compile(rf"^ *(?:ROOT )?%\S+ = (.*?) ({_KINDS})(?:-start)?\(", re.MULTILINE)
_ARRAY = re.compile(r"f32\[([\d,]*)\]")


def collectives_in(text: str) -> Collectives:
    """The collectives of a program's HLO, with the bytes of their results on a device."""
    found: Collectives = Counter()
    for arrays, kind in _COLLECTIVE.findall(text):
        shapes = [[int(n) for n in sizes.split(",") if n] for sizes in _ARRAY.findall(arrays)]
        found[kind, BYTES * sum(map(math.prod, shapes))] += 1
    return found


def compare(count: int, names: list[str]) -> None:
    """Check the formulas against programs compiled for so many devices of the CPU."""
    devices = jax.devices("cpu")[:count]
    assert len(devices) == count
    sizes = Sizes(hidden=max(256, count), width=max(64, count))
    for name in names:
        formula, program = LAYOUTS[name]
        expected = formula(count, sizes)
        compiled = program(devices, sizes).compile()
        found = collectives_in(compiled.as_text())
        assert found == expected.collectives, (name, count, found, expected.collectives)
        held = compiled.memory_analysis().argument_size_in_bytes
        assert held == expected.held, (name, count, held, expected.held)


MODEL = Sizes(width=4096, hidden=16384, layers=64, rows=4096, capacity=64, tensor=8)
COUNTS = (1, 8, 64, 512, 4096)


def _amount(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} TB"


def table() -> list[str]:
    """What a device holds and gives to collectives in a step or a tick of `MODEL`, as Markdown."""
    lines = []
    for name, (formula, _) in LAYOUTS.items():
        needs = [formula(n, MODEL) for n in COUNTS]
        sums = [
            sum(size * times for (_, size), times in need.collectives.items()) for need in needs
        ]
        for what, amounts in (("holds", [need.held for need in needs]), ("sends", sums)):
            lines.append(f"| {name}, {what} | {' | '.join(map(_amount, amounts))} |")
    return lines
