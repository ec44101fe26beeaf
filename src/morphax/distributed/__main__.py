"""Start a script in several processes on this machine.

python -m morphax.distributed --processes 4 script.py [arguments]
"""

from __future__ import annotations

import sys

from .launcher import main

if __name__ == "__main__":
    sys.exit(main())
