"""The native engine: a jaxpr, whole, as one function of machine code, made by LLVM.

Start with `machine_code`; see docs/design/native-engine.md.
"""
