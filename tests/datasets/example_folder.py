"""Original files for tests of builders."""

import pathlib
import tempfile


class ExampleFolder:
    """Mixin of a `DatasetBuilderTestCase` that writes its original files.

    A class has a function `write` of the folder, which does not exist yet.
    """

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.EXAMPLE_DIR = str(pathlib.Path(cls._folder.name) / "files")
        cls.write(pathlib.Path(cls.EXAMPLE_DIR))
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls._folder.cleanup()
