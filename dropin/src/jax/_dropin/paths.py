"""The table: what there is under the name `jax`.

A path that is listed leads to the module of morphax of the same path.  Others do not exist, even
where morphax has a module of that name: libraries ask for names to learn which version they run on.
"""

from __future__ import annotations

from typing import Final

# The modules of JAX 0.10.2 that can be imported; those that morphax does not have are missing.
MODULES: Final = frozenset(
    """
    ad_checkpoint api_util custom_batching custom_derivatives debug distributed dlpack dtypes errors
    example_libraries example_libraries.optimizers example_libraries.stax
    experimental
    experimental.array_serialization
    experimental.array_serialization.pytree_serialization
    experimental.array_serialization.pytree_serialization_utils
    experimental.array_serialization.serialization
    experimental.array_serialization.tensorstore_impl
    experimental.buffer_callback experimental.checkify experimental.colocated_python
    experimental.compilation_cache experimental.compilation_cache.compilation_cache
    experimental.compute_on experimental.control_deps experimental.custom_partitioning
    experimental.fused experimental.hijax
    experimental.jax2tf experimental.jet experimental.layout experimental.mesh_utils
    experimental.mosaic experimental.mosaic.gpu
    experimental.multihost_utils experimental.ode
    experimental.pallas experimental.pallas.fuser experimental.pallas.mosaic_gpu
    experimental.pallas.tpu experimental.pallas.tpu_sc experimental.pallas.triton
    experimental.pallas.ops experimental.pallas.ops.gpu
    experimental.pallas.ops.gpu.all_gather_mgpu experimental.pallas.ops.gpu.attention
    experimental.pallas.ops.gpu.attention_mgpu experimental.pallas.ops.gpu.blackwell_matmul_mgpu
    experimental.pallas.ops.gpu.blackwell_ragged_dot_mgpu
    experimental.pallas.ops.gpu.collective_matmul_mgpu experimental.pallas.ops.gpu.decode_attention
    experimental.pallas.ops.gpu.hopper_matmul_mgpu
    experimental.pallas.ops.gpu.hopper_mixed_type_matmul_mgpu
    experimental.pallas.ops.gpu.layer_norm experimental.pallas.ops.gpu.paged_attention
    experimental.pallas.ops.gpu.ragged_dot_mgpu experimental.pallas.ops.gpu.reduce_scatter_mgpu
    experimental.pallas.ops.gpu.rms_norm experimental.pallas.ops.gpu.softmax
    experimental.pallas.ops.gpu.transposed_ragged_dot_mgpu
    experimental.pallas.ops.tpu experimental.pallas.ops.tpu.all_gather
    experimental.pallas.ops.tpu.example_kernel experimental.pallas.ops.tpu.flash_attention
    experimental.pallas.ops.tpu.matmul experimental.pallas.ops.tpu.megablox
    experimental.pallas.ops.tpu.paged_attention experimental.pallas.ops.tpu.ragged_paged_attention
    experimental.pallas.ops.tpu.random experimental.pallas.ops.tpu.random.philox
    experimental.pallas.ops.tpu.random.prng_utils experimental.pallas.ops.tpu.random.threefry
    experimental.pallas.ops.tpu.splash_attention
    experimental.pjit experimental.profiler experimental.random experimental.rnn
    experimental.roofline experimental.scheduling_groups experimental.serialize_executable
    experimental.shard_alike experimental.shard_map experimental.source_mapper
    experimental.sparse experimental.sparse.ad experimental.sparse.api experimental.sparse.bcoo
    experimental.sparse.bcsr experimental.sparse.coo experimental.sparse.csr
    experimental.sparse.linalg experimental.sparse.random experimental.sparse.transform
    experimental.sparse.util
    experimental.topologies experimental.transfer experimental.xla_metadata
    export
    extend extend.backend extend.core extend.core.primitives extend.ifrt_programs
    extend.linear_util extend.lowering extend.mlir extend.pallas extend.random extend.sharding
    extend.source_info_util extend.xla
    ffi flatten_util image
    interpreters interpreters.ad interpreters.batching interpreters.mlir
    interpreters.partial_eval interpreters.pxla interpreters.xla
    lax lax.linalg
    monitoring nn nn.initializers numpy numpy.fft numpy.linalg ops profiler random ref
    scipy scipy.cluster scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate scipy.linalg
    scipy.ndimage scipy.optimize scipy.signal scipy.sparse scipy.sparse.linalg scipy.spatial
    scipy.spatial.transform scipy.special
    scipy.stats scipy.stats.bernoulli scipy.stats.beta scipy.stats.betabinom scipy.stats.binom
    scipy.stats.cauchy scipy.stats.chi2 scipy.stats.dirichlet scipy.stats.expon scipy.stats.gamma
    scipy.stats.gennorm scipy.stats.geom scipy.stats.gumbel_l scipy.stats.gumbel_r
    scipy.stats.laplace scipy.stats.logistic scipy.stats.multinomial
    scipy.stats.multivariate_normal scipy.stats.nbinom scipy.stats.norm scipy.stats.pareto
    scipy.stats.poisson scipy.stats.t scipy.stats.truncnorm scipy.stats.uniform
    scipy.stats.vonmises scipy.stats.wrapcauchy
    sharding stages test_util tools tools.jax_to_ir tree tree_util typing
    """.split()
)

# Modules that are recognised by their `__name__`, as SciPy and scikit-learn do through
# `array_api_compat`.  Nothing is defined in them: their functions know their own module.
NAMED: Final = frozenset({"numpy"})

# Modules of this distribution: they have no twin in morphax.
OWN: Final = frozenset({"core", "lib", "version"})

# Attributes of morphax that JAX does not have: extensions, and the packages it is built from.
ABSENT: Final = frozenset(
    """
    annotations array cache control engines parallel reverse_while runtime science transforms util
    """.split()
)

# `jax.core` is smaller than the package that morphax is built on.
CORE: Final = frozenset(
    """
    AbstractValue Atom ParamDict ShapedArray Trace Tracer Value ensure_compile_time_eval
    eval_context eval_jaxpr max_dim min_dim
    """.split()
)

# Asking `jax.core` for one of these is deprecated; some have moved to `jax.extend.core`.
DEPRECATED_CORE: Final = frozenset(
    """
    CallPrimitive DebugInfo DropVar Effect Effects InconclusiveDimensionOperation JaxprPpContext
    JaxprPpSettings JaxprTypeError OutputType abstract_token aval_mapping_handlers call check_jaxpr
    concrete_or_error concretization_function_error custom_typechecks find_top_trace gensym
    get_opaque_trace_state is_concrete is_constant_dim is_constant_shape jaxprs_in_params
    literalable_types new_jaxpr_eqn no_axis_name no_effects nonempty_axis_env_DO_NOT_USE
    primal_dtype_to_tangent_dtype pytype_aval_mappings trace_ctx
    unsafe_am_i_under_a_jit_DO_NOT_USE unsafe_am_i_under_a_vmap_DO_NOT_USE
    unsafe_get_axis_names_DO_NOT_USE valid_jaxtype
    """.split()
)
