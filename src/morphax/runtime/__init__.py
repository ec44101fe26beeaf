"""What engines stand on: clients, devices, places, memory of devices.  It knows no programs.

Only this package imports jaxlib.  Read in this order: `device`, `client` (one for each platform,
and what differs between versions of jaxlib), `devices` (which there are, and which is the default
one), `sharding` (where arrays lie), `places` (where programs run), and `layouts` and `buffers`:
places and arrays as jaxlib has them.
"""
