"""Programs over named axes: collectives; meshes and shardings will stand beside them."""
