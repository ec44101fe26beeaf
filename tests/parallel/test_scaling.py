"""docs/design/scaling.md against programs compiled ahead of time for up to 512 devices."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..stress.process import run
from .scaling import LAYOUTS, collectives_in, table

ROOT = Path(__file__).parents[2]
# With many experts, the program takes the compiler a while.
AT = {8: list(LAYOUTS), 64: list(LAYOUTS)[:4], 512: list(LAYOUTS)[:4]}


@pytest.mark.parametrize("count", AT)
def test_formulas(count: int) -> None:
    """Nothing is run, so a client with few threads will do."""
    run(
        f"""
        os.environ["NPROC"] = "2"
        jax.config.update("jax_num_cpu_devices", {count})
        sys.path.insert(0, {str(ROOT)!r})
        from tests.parallel.scaling import compare
        compare({count}, {AT[count]!r})
        """,
        seconds=120,
    )


def test_the_table_is_that_of_the_formulas() -> None:
    text = (ROOT / "docs/design/scaling.md").read_text()
    missing = [line for line in table() if line not in text]
    assert not missing, "\n".join(missing)


def test_collectives_are_found_in_tuples_too() -> None:
    text = """
      %all-reduce.1 = (f32[4,2]{1,0}, /*index=1*/f32[3]{0}) all-reduce(%a, %b), channel_id=1
      ROOT %all-gather = f32[8]{0} all-gather(%c), channel_id=2
      %x = f32[] add(%all-gather, %d)
    """
    assert collectives_in(text) == {("all-reduce", 44): 1, ("all-gather", 32): 1}
