"""The Atlas: what each call does to memory, graph and device, observed by probes.

``python -m tensor_maps.atlas`` prints what all calls of ``calls.toml`` do. Calls
that need NumPy, pandas or Pillow are left out where these are not installed.
"""
