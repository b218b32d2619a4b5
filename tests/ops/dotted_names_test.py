from embeddings_tf.ops.dotted_names import dotted_names


def test_values_are_named_by_their_path():
    values = {"a": 1, "b": {"c": [2, 3], "d": {"e": None}, "empty": {}}}
    found = dict(dotted_names(values))
    assert found == {"a": 1, "b.c": [2, 3], "b.d.e": None}


def test_values_of_equal_names_are_all_given():
    values = {"a.b": 1, "a": {"b": 2}}
    assert [*dotted_names(values)] == [("a.b", 1), ("a.b", 2)]
