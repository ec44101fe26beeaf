"""Reading and writing at places that are numbers themselves: gather, scatter, dynamic slices.

`element_places` says where a window lies in memory, `scatter_rules` what all scatters share; which
axis is what stands in `ground.dimension_numbers`.
"""
