"""`morphax.ad_checkpoint`: the parts of rematerialisation that are not in the main namespace."""

from __future__ import annotations

from .control.checkpoint.checkpoint_name import checkpoint_name as checkpoint_name
from .control.checkpoint.checkpoint_policies import Offloadable as Offloadable
from .control.checkpoint.checkpoint_policies import Recompute as Recompute
from .control.checkpoint.checkpoint_policies import Saveable as Saveable
from .control.checkpoint.checkpoint_policies import checkpoint_policies as checkpoint_policies
from .control.checkpoint.saved_residuals import print_saved_residuals as print_saved_residuals
