"""Operations on keys that mean something to a check against using keys twice, and nothing else."""

from __future__ import annotations

from typing import Any, final

from ...core import like
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.kinds import KEY
from .random_bits import KeyOperation


class SameKeys(KeyOperation):
    """The keys as they are."""

    def abstract_eval(self, keys: Any) -> Any:
        KEY.check(self.name, 0, keys)
        return like(keys)

    def evaluate(self, keys: Any) -> Any:
        return keys

    def lower(self, b: Builder, out: Any, keys: Value) -> Value:
        return keys

    def to_loops(self, b: loops.Builder, out: Any, keys: loops.Value) -> loops.Value:
        return keys


@final
class RandomClone(SameKeys):
    """The same keys, as new ones."""

    name = "random_clone"
    key_use = "makes"


@final
class RandomUse(SameKeys):
    """The same keys, from whose words numbers are drawn.

    Programs have it only while uses are checked (``jax_debug_key_reuse``).
    """

    name = "random_use"
    key_use = "draws"


random_clone_p = RandomClone()
random_use_p = RandomUse()
