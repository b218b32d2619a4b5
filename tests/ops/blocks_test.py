from embeddings_tf.ops.blocks import blocks


def test_blocks():
    assert blocks(5, 2) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert blocks(4, 4) == [slice(0, 4)]
    assert blocks(0, 4) == []
