"""Small NORB with three factors: their names, and the TFDS builder.

`FACTORS` names the columns of the labels that
`embeddings_tf.datasets.load("small_norb", split)` returns, in order.
"""

FACTORS = ("toy", "elevation", "azimuth")
