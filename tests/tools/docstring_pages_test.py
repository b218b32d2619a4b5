import pathlib
import re

import griffe
import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))


@pytest.fixture(scope="module")
def library():
    return griffe.load(
        "embeddings_tf",
        search_paths=[ROOT],
        extensions=griffe.load_extensions(
            str(ROOT / "tools" / "docstring_pages.py")
        ),
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_reference_page_has_every_public_name_of_its_package(library, page):
    package = library[page.stem]
    assert f"::: {package.path}\n" in page.read_text()
    assert package.exports
    for name in package.exports:
        member = package[str(name)]
        assert not member.is_module, name
        assert member.docstring, name
        assert not re.search(r"(?m)^Example:", member.docstring.value), name


def test_every_package_with_public_names_has_a_page(library):
    packages = {
        name for name, module in library.modules.items() if module.exports
    }
    # Internal mathematics, and the version.
    assert packages - {"ops", "version"} == {page.stem for page in PAGES}


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        assert f": api/{page.name}\n" in navigation
