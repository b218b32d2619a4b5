"""Sprites of Reed et al. (2015): names of the factors, and the TFDS builder.

`FACTORS` names the columns of the labels that
`embeddings_tf.datasets.load("sprites", split)` returns, in order.
"""

FACTORS = ("gender", "body", "armor", "hair", "arm", "greaves", "weapon")
