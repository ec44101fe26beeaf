"""One process of a test: it runs all programs, or a check of its own, by name."""

from __future__ import annotations

import sys

import morphax as jax

from . import members, programs


def main(devices: str, names: list[str]) -> None:
    jax.config.update("jax_num_cpu_devices", int(devices))
    jax.distributed.initialize(
        initialization_timeout=60, heartbeat_timeout_seconds=20, shutdown_timeout_seconds=30
    )
    for name in names:
        (getattr(members, name, None) or getattr(programs, name))()
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
