"""Attention under masks of which much is empty."""

from __future__ import annotations

from . import splash_attention_kernel as splash_attention_kernel
from . import splash_attention_mask as splash_attention_mask
from .splash_attention_kernel import BlockSizes as BlockSizes
from .splash_attention_kernel import QKVLayout as QKVLayout
from .splash_attention_kernel import SegmentIds as SegmentIds
from .splash_attention_kernel import make_splash_mha as make_splash_mha
from .splash_attention_kernel import make_splash_mha_single_device as make_splash_mha_single_device
from .splash_attention_kernel import make_splash_mqa as make_splash_mqa
from .splash_attention_kernel import make_splash_mqa_single_device as make_splash_mqa_single_device
from .splash_attention_mask import CausalMask as CausalMask
from .splash_attention_mask import FullMask as FullMask
from .splash_attention_mask import LocalMask as LocalMask
from .splash_attention_mask import Mask as Mask
from .splash_attention_mask import MultiHeadMask as MultiHeadMask
from .splash_attention_mask import NumpyMask as NumpyMask
from .splash_attention_mask import make_causal_mask as make_causal_mask
from .splash_attention_mask import make_local_attention_mask as make_local_attention_mask
from .splash_attention_mask import make_random_mask as make_random_mask
