from embeddings_tf.ops.listed import listed


def test_words_beyond_the_first_are_counted():
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert listed([]) == ""
