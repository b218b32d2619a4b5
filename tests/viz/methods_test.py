from embeddings_tf.viz import methods


def test_28_methods_look_different():
    styles = [tuple(methods.style(i).values()) for i in range(28)]
    assert len({style[:2] for style in styles}) == 28


def test_note_on_runs():
    assert methods.what_is_drawn([1, 1]) == "one run each"
    assert "of 4 runs" in methods.what_is_drawn([4, 4])
    assert "of 1 to 4 runs" in methods.what_is_drawn([4, 1, 3])
