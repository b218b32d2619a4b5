from embeddings_tf.ops.counted import counted


def test_one_has_no_plural():
    assert counted(1, "file") == "1 file"
    assert counted(0, "file") == "0 files"
    assert counted(2, "class", "classes") == "2 classes"
