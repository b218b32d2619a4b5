"""Snippets of the README are type-checked."""

import pytest

from tools import readme_types

PAGE = """# A page

```python
import embeddings_tf

loss = embeddings_tf.losses.TripletLoss(margin={margin})
```

```sh
not python
```
"""


def test_only_python_is_read_and_lines_stay_in_place(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(margin=0.1))
    lines = readme_types.snippets(page).splitlines()
    assert len(lines) == len(page.read_text().splitlines())
    assert [(i, line) for i, line in enumerate(lines) if line] == [
        (3, "import embeddings_tf"),
        (5, "loss = embeddings_tf.losses.TripletLoss(margin=0.1)"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("margin", "code"), [("0.1", 0), ("'wide'", 1)])
def test_a_wrong_argument_is_found(margin, code, tmp_path, capfd):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(margin=margin))
    assert readme_types.main(page) == code
    out = capfd.readouterr().out
    assert ("page.py:6" in out and "arg-type" in out) == bool(code), out
