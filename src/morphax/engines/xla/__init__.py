"""The xla engine: jaxpr → StableHLO text → jaxlib → numbers.  Only this package imports jaxlib.

Read in this order: `stablehlo` (the text builder), `lowering` (jaxpr to module), `client` (what
differs between jaxlib versions), `buffers` (host and device memory), `executable` (compile and
call).
"""
