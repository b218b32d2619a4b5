from embeddings_tf.ops.dotted_names import dotted_names


def test_values_are_named_by_their_path():
    values = {"a": 1, "b": {"c": [2, 3], "d": {"e": None}, "empty": {}}}
    assert dotted_names(values) == {"a": 1, "b.c": [2, 3], "b.d.e": None}
