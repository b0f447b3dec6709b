# /// script
# requires-python = ">=3.11"
# dependencies = ["torch>=2.6"]
# ///
"""
What waits
==========

A lesson whose picture is a diagram. It stands in the list of what goes deeper.
"""

# sphinx_gallery_setup = True
# sphinx_gallery_lead = "what_waits.html"
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
print("This lesson runs on:", device)

# %%
# Only this
# ---------

a = torch.ones(2)
b = a[:1]
b += 1
print(a)

# %%
# Remember
# --------
# - A view shares.
