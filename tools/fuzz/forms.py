"""Lines with functions inside: control flow, transformations, custom rules, references."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .builder import Builder, kind_of
from .program import Block

Form = Callable[[Builder], bool]
Grow = Callable[[Builder, int], None]


def _is_float(value: object) -> bool:
    return kind_of(value) == "f" and hasattr(value, "shape")


def _is_array(value: object) -> bool:
    return kind_of(value) != "" and hasattr(value, "shape")


def _has_rows(value: object) -> bool:
    return _is_array(value) and len(getattr(value, "shape", ())) > 0


class Forms:
    """The forms, given how to grow the lines of a body."""

    def __init__(self, grow: Grow) -> None:
        self.grow = grow
        self.table: list[tuple[int, Form]] = [
            (3, self.scan),
            (1, self.scan_without_rows),
            (2, self.fori),
            (2, self.while_loop),
            (3, self.cond),
            (1, self.switch),
            (2, self.map),
            (4, self.vmap),
            (4, self.grad),
            (3, self.derivative),
            (1, self.second_derivative),
            (2, self.wrapped),
            (2, self.custom_jvp),
            (2, self.custom_vjp),
            (1, self.custom_vmap),
            (2, self.reference),
            (1, self.reference_in_loop),
            (1, self.pure_callback),
            (1, self.tree),
        ]

    def body(
        self,
        b: Builder,
        values: list[object],
        like: object = None,
        kinds: str = "fiubc",
        sees_names: bool = True,
    ) -> Block | None:
        """A function of values like these; its result is of the type of `like`, if given."""
        inner = b.child(sees_names)
        params = [inner.param(value) for value in values]
        self.grow(inner, b.rng.choice([1, 1, 2, 3]))
        result = inner.result(kinds)
        if result is not None and like is not None:
            result = inner.cast(result, like)
        return None if result is None else inner.block(params, [result])

    def scalar_body(self, b: Builder, values: list[object]) -> Block | None:
        """A function whose result is one float."""
        inner = b.child()
        params = [inner.param(value) for value in values]
        self.grow(inner, b.rng.choice([1, 1, 2, 3]))
        result = inner.result("fiu")
        if result is None:
            return None
        if kind_of(inner.values[result]) != "f":
            made = inner.add("jnp.sum({0} * 0.5)", [result])
        elif getattr(inner.values[result], "shape", ()) == ():
            made = [result]
        else:
            made = inner.add(
                b.rng.choice(["jnp.sum({0})", "jnp.sum({0} * {0})", "{0}.mean()"]), [result]
            )
        return inner.block(params, made) if made else None

    def scan(self, b: Builder) -> bool:
        init, rows = b.pick(_is_array), b.pick(_has_rows)
        if init is None or rows is None:
            return False
        value = b.values[rows]
        row = value[0] if value.shape[0] else np.zeros(value.shape[1:], value.dtype)
        inner = b.child()
        params = [inner.param(b.values[init]), inner.param(row)]
        self.grow(inner, b.rng.choice([1, 2, 3]))
        last = inner.result()
        carry = inner.cast(last, b.values[init]) if last else None
        if carry is None or last is None:
            return False
        block = inner.block(params, [carry, inner.result() or last])
        options = b.rng.choice(["", "", ", reverse=True", ", unroll=2", ", unroll=True"])
        return (
            b.add(f"lax.scan({{b0}}, {{0}}, {{1}}{options})", [init, rows], [block], 2) is not None
        )

    def scan_without_rows(self, b: Builder) -> bool:
        init = b.pick(_is_array)
        if init is None:
            return False
        block = self.body(b, [b.values[init]], b.values[init])
        if block is None:
            return False
        length = b.rng.choice([0, 1, 2, 3])
        text = f"lax.scan(lambda c, _: ({{b0}}(c), c), {{0}}, None, length={length})"
        return b.add(text, [init], [block], 2) is not None

    def fori(self, b: Builder) -> bool:
        init = b.pick(_is_array)
        if init is None:
            return False
        block = self.body(b, [1, b.values[init]], b.values[init])
        bounds = b.rng.choice(["0, 3", "1, 1", "0, 2", "2, 4"])
        text = f"lax.fori_loop({bounds}, {{b0}}, {{0}})"
        return block is not None and b.add(text, [init], [block]) is not None

    def while_loop(self, b: Builder) -> bool:
        init = b.pick(_is_array)
        if init is None:
            return False
        block = self.body(b, [b.values[init]], b.values[init])
        test = b.rng.choice(["s[0] < 3", "(s[0] < 4) & (jnp.sum(jnp.abs(s[1])) < 9)", "s[0] < 0"])
        text = f"lax.while_loop(lambda s: {test}, lambda s: (s[0] + 1, {{b0}}(s[1])), (0, {{0}}))"
        return block is not None and b.add(text, [init], [block], 2) is not None

    def cond(self, b: Builder) -> bool:
        x, decider = b.pick(_is_array), b.pick(_is_array)
        if x is None or decider is None:
            return False
        first = self.body(b, [b.values[x]])
        if first is None:
            return False
        inner = b.child()
        inner.values[first.params[0]] = b.values[x]
        scratch = b.child()
        made = scratch.add("{b0}({0})", [x], [first], any_value=True)
        second = self.body(b, [b.values[x]], scratch.values[made[0]]) if made else None
        if second is None or made is None:
            return False
        third = b.child()
        param = third.param(b.values[x])
        called = third.add("{b0}({0})", [param], [first], any_value=True)
        cast = third.cast(called[0], scratch.values[made[0]]) if called else None
        if cast is None:
            return False
        test = b.rng.choice(["jnp.sum({1}) > 0", "jnp.any({1} == 0)", "jnp.all({1} < 1)"])
        if kind_of(b.values[decider]) == "c":
            test = "jnp.any({1} == 0)"
        blocks = [third.block([param], [cast]), second]
        b.rng.shuffle(blocks)
        return b.add(f"lax.cond({test}, {{b0}}, {{b1}}, {{0}})", [x, decider], blocks) is not None

    def switch(self, b: Builder) -> bool:
        x, index = b.pick(_is_array), b.pick(lambda v: kind_of(v) in ("i", "u") and _is_array(v))
        if x is None:
            return False
        blocks = [self.body(b, [b.values[x]], b.values[x]) for _ in range(b.rng.choice([1, 2, 3]))]
        if any(block is None for block in blocks):
            return False
        names = ", ".join(f"{{b{i}}}" for i in range(len(blocks)))
        which = "jnp.sum({1})" if index else b.rng.choice(["0", "1", "-3", "5"])
        found = [block for block in blocks if block is not None]
        return b.add(f"lax.switch({which}, [{names}], {{0}})", [x, index or x], found) is not None

    def map(self, b: Builder) -> bool:
        rows = b.pick(lambda v: _has_rows(v) and len(v) > 0)
        if rows is None:
            return False
        block = self.body(b, [b.values[rows][0]])
        options = b.rng.choice(["", "", ", batch_size=2"])
        text = f"lax.map({{b0}}, {{0}}{options})"
        return block is not None and b.add(text, [rows], [block]) is not None

    def vmap(self, b: Builder) -> bool:
        rows = b.pick(lambda v: _has_rows(v) and len(v) > 0)
        if rows is None:
            return False
        axis = b.rng.randrange(b.values[rows].ndim)
        if b.values[rows].shape[axis] == 0:
            return False
        member = b.values[rows].take(0, axis)
        other = b.pick(_is_array)
        if other is None or b.rng.random() < 0.5:
            block = self.body(b, [member])
            text, operands = f"jax.vmap({{b0}}, in_axes={axis})({{0}})", [rows]
        elif other == rows:
            block = self.body(b, [member, member])
            text, operands = f"jax.vmap({{b0}}, in_axes={axis})({{0}}, {{0}})", [rows]
        else:
            block = self.body(b, [member, b.values[other]])
            text, operands = f"jax.vmap({{b0}}, ({axis}, None))({{0}}, {{1}})", [rows, other]
        return block is not None and b.add(text, operands, [block]) is not None

    def _two_floats(self, b: Builder) -> tuple[str, str] | None:
        x, y = b.pick(_is_float), b.pick(_is_array)
        return None if x is None or y is None else (x, y)

    def grad(self, b: Builder) -> bool:
        found = self._two_floats(b)
        if found is None:
            return False
        block = self.scalar_body(b, [b.values[name] for name in found])
        text, targets = b.rng.choice([
            ("jax.grad({b0})({0}, {1})", 1),
            ("jax.grad({b0})({0}, {1})", 1),
            ("jax.value_and_grad({b0})({0}, {1})", 2),
            ("jax.grad(jax.checkpoint({b0}))({0}, {1})", 1),
            ("jax.grad(jax.jit({b0}))({0}, {1})", 1),
            ("jax.grad(lambda v: jnp.sum(jax.vmap({b0}, (None, 0))(v, {1})))({0})", 1),
        ])  # fmt: skip
        return block is not None and b.add(text, found, [block], targets) is not None

    def derivative(self, b: Builder) -> bool:
        x = b.pick(_is_float)
        if x is None:
            return False
        block = self.body(b, [b.values[x]], kinds="f")
        tangent = b.rng.choice(["jnp.ones_like({0})", "jnp.cos({0})", "{0}"])
        text, targets = b.rng.choice([
            (f"jax.jvp({{b0}}, ({{0}},), ({tangent},))", 2),
            (f"(lambda out, f: (out, f({tangent})))(*jax.linearize({{b0}}, {{0}}))", 2),
            ("(lambda out, f: (out, f(jnp.ones_like(out))[0]))(*jax.vjp({b0}, {0}))", 2),
            ("(lambda out, f: (out, f(jnp.cos(out))[0]))(*jax.vjp({b0}, {0}))", 2),
            (f"jax.jvp(jax.checkpoint({{b0}}), ({{0}},), ({tangent},))", 2),
        ])  # fmt: skip
        return block is not None and b.add(text, [x], [block], targets) is not None

    def second_derivative(self, b: Builder) -> bool:
        x = b.pick(lambda v: _is_float(v) and getattr(v, "size", 99) <= 4)
        if x is None:
            return False
        block = self.scalar_body(b, [b.values[x]])
        text = b.rng.choice([
            "jax.hessian({b0})({0})",
            "jax.jacfwd({b0})({0})",
            "jax.jacrev({b0})({0})",
            "jax.jacfwd(jax.jacfwd({b0}))({0})",
            "jax.jacrev(jax.jacrev({b0}))({0})",
            "jax.grad(lambda v: jnp.sum(jax.grad({b0})(v) ** 2))({0})",
        ])  # fmt: skip
        return block is not None and b.add(text, [x], [block]) is not None

    def wrapped(self, b: Builder) -> bool:
        x, y = b.pick(_is_array), b.pick(_is_array)
        if x is None or y is None:
            return False
        block = self.body(b, [b.values[x], b.values[y]])
        text = b.rng.choice([
            "jax.jit({b0})({0}, {1})",
            "jax.checkpoint({b0})({0}, {1})",
            "jax.checkpoint({b0}, policy=jax.checkpoint_policies.dots_saveable)({0}, {1})",
            "jax.named_call({b0})({0}, {1})",
            "jax.closure_convert(lambda v: {b0}(v, {1}), {0})[0]({0}, *jax.closure_convert("
            "lambda v: {b0}(v, {1}), {0})[1])",
        ])  # fmt: skip
        return block is not None and b.add(text, [x, y], [block]) is not None

    # The rules of custom derivatives see parameters only: a rule must not read what is traced
    # outside of it.
    def custom_jvp(self, b: Builder) -> bool:
        x = b.pick(_is_float)
        if x is None:
            return False
        block = self.body(b, [b.values[x]], kinds="f", sees_names=False)
        rule = b.rng.choice([
            "lambda p, t: jax.jvp({b0}, p, t)",
            "lambda p, t: ({t0}_c(*p), jax.jvp({b0}, p, t)[1])",
        ])  # fmt: skip
        use = b.rng.choice(["{t0}_c({0})", "jax.grad(lambda v: jnp.sum({t0}_c(v)))({0})"])
        text = f"{{t0}}_c = jax.custom_jvp({{b0}})\n{{t0}}_c.defjvp({rule})\n{{t0}} = {use}"
        return block is not None and b.add(text, [x], [block]) is not None

    def custom_vjp(self, b: Builder) -> bool:
        x = b.pick(_is_float)
        if x is None:
            return False
        block = self.body(b, [b.values[x]], kinds="f", sees_names=False)
        forward = b.rng.choice(["lambda v: ({b0}(v), v)", "lambda v: ({t0}_c(v), v)"])
        use = b.rng.choice([
            "{t0}_c({0})",
            "jax.grad(lambda v: jnp.sum({t0}_c(v)))({0})",
            "jax.vmap({t0}_c)({0}[None])",
            "jax.vmap(jax.grad(lambda v: jnp.sum({t0}_c(v))))({0}[None])",
        ])  # fmt: skip
        text = (
            "{t0}_c = jax.custom_vjp({b0})\n"
            f"{{t0}}_c.defvjp({forward}, lambda v, ct: jax.vjp({{b0}}, v)[1](ct))\n{{t0}} = {use}"
        )
        return block is not None and b.add(text, [x], [block]) is not None

    def custom_vmap(self, b: Builder) -> bool:
        x = b.pick(_is_array)
        if x is None:
            return False
        block = self.body(b, [b.values[x]])
        text = (
            "{t0}_c = jax.custom_batching.custom_vmap({b0})\n"
            "{t0}_c.def_vmap(lambda size, batched, v: (jax.vmap({b0})(v), True))\n"
            "{t0} = jax.vmap({t0}_c)(jnp.stack([{0}, {0} + {0}]))"
        )
        return block is not None and b.add(text, [x], [block]) is not None

    def reference(self, b: Builder) -> bool:
        x = b.pick(_has_rows)
        if x is None:
            return False
        block = self.body(b, [b.values[x]], b.values[x])
        write = b.rng.choice([
            "{t0}_r[...] = {b0}({t0}_r[...])",
            "{t0}_r[0] = {b0}({0})[-1]",
            "{t0}_r[...] += {b0}({0})",
            "{t0}_r[::2] = {b0}({0})[::2]",
            "{t0}_r[-1] *= 2",
        ])  # fmt: skip
        read = b.rng.choice(["{t0}_r[...]", "jax.freeze({t0}_r)", "{t0}_r[0]", "{t0}_r[...] + {0}"])
        text = f"{{t0}}_r = jax.new_ref({{0}})\n{write}\n{{t0}} = {read}"
        return block is not None and b.add(text, [x], [block]) is not None

    def reference_in_loop(self, b: Builder) -> bool:
        x = b.pick(_is_array)
        if x is None:
            return False
        block = self.body(b, [b.values[x]], b.values[x])
        loop = b.rng.choice([
            "lax.fori_loop(0, 3, lambda i, c: c + {t0}_step(), 0)",
            "lax.scan(lambda c, _: ({t0}_step(), c), 0, None, length=2)",
            "jax.jit({t0}_step)()",
            "lax.cond(jnp.sum({0} != 0) > 0, {t0}_step, lambda: 0)",
            "lax.while_loop(lambda i: i < 2, lambda i: i + 1 + {t0}_step(), 0)",
            "jax.checkpoint({t0}_step)()",
        ])  # fmt: skip
        text = (
            "{t0}_r = jax.new_ref({0})\n"
            "def {t0}_step():\n    {t0}_r[...] = {b0}({t0}_r[...])\n    return 0\n"
            f"{loop}\n{{t0}} = {{t0}}_r[...]"
        )
        return block is not None and b.add(text, [x], [block]) is not None

    def pure_callback(self, b: Builder) -> bool:
        x = b.pick(lambda v: kind_of(v) in ("f", "i") and _is_array(v))
        if x is None:
            return False
        text = b.rng.choice([
            "jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct({0}.shape,"
            " {0}.dtype), {0}, vmap_method='sequential')",
            "jax.pure_callback(lambda v: np.negative(v), {0}, {0}, vmap_method='expand_dims')",
        ])  # fmt: skip
        return b.add(text, [x]) is not None

    def tree(self, b: Builder) -> bool:
        x, y = b.pick(_is_float), b.pick(_is_array)
        if x is None or y is None:
            return False
        block = self.scalar_body(b, [b.values[x], b.values[y]])
        text = b.rng.choice([
            "jax.grad(lambda d: {b0}(d['a'], d['b'][0]) + 0 * jnp.sum(d['a']))"
            "({{'a': {0}, 'b': ({0} * 2,)}})['a']",
            "jax.tree.map(lambda v: jnp.sum(v) * {b0}({0}, {1}), [{0}, ({1},)])[0]",
            "jax.eval_shape({b0}, {0}, {1}).ndim + {0}",
            "jax.flatten_util.ravel_pytree(({0}, {b0}({0}, {1})))[0]",
            "jnp.vectorize(lambda v: v * {b0}({0}, {1}))({0})",
        ])  # fmt: skip
        return block is not None and b.add(text, [x, y], [block]) is not None
