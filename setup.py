"""Packaging; tool settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages
from setuptools import setup

ROOT = Path(__file__).parent
README = ROOT / "README.md"
VERSION = re.search(
    r'^__version__ = "([^"]+)"$',
    (ROOT / "embeddings_tf" / "version.py").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
).group(1)

INSTALL_REQUIRES = [
    "tensorflow>=2.21",
    # Upper bounds: embeddings_tf/compat.py uses private names.
    "keras>=3.15,<3.16",
    # TFP cannot be imported without tf_keras, which it does not declare.
    "tensorflow-probability>=0.25",
    "tf_keras>=2.21",
    # TFDS needs importlib_resources, which it does not declare.
    "tensorflow-datasets>=4.9.10,<4.10",
    "importlib_resources>=6.4",
    # TensorFlow no longer brings TensorBoard; tf.summary needs it.
    "tensorboard>=2.21",
    "keras-tuner>=1.4.8,<1.5",
    # The pictures of train, evaluate, cross_validate, compare, enroll,
    # identify, nearest and verify.
    "matplotlib>=3.10",
    "ml_collections>=1.1",
    "numpy>=2.1",
    "scikit-learn>=1.6",
    "scipy>=1.14",
]
EXTRAS_REQUIRE = {
    # Recordings that are not WAV.
    "audio": ["soundfile>=0.13"],
    # TFDS reads the segmentation masks of CUB-200-2011 with it.
    "birds": ["opencv-python-headless>=4.10"],
    # Engines that read an export, for benchmarks/engines.py.
    "engines": [
        "ai-edge-litert>=2.3",
        "onnxruntime>=1.32",
        "openvino>=2026.4",
        "tf2onnx>=1.17",
    ],
    "cuda": ["tensorflow[and-cuda]>=2.21; sys_platform == 'linux'"],
    # Files of MATLAB 7.3 are HDF5, older ones are read by SciPy.
    "hdf5": ["h5py>=3.11"],
    # TensorFlow Datasets reads recordings with pydub, which needs a module that
    # Python 3.13 no longer has. Only preparing a set reads recordings.
    "speech": [
        "audioop-lts>=0.2; python_version >= '3.13'",
        "pydub>=0.25.1",
    ],
    "tables": ["pandas>=2.2"],
    "dev": [
        "build>=1.2",
        "dill>=0.3.9",  # The test case of TFDS imports it.
        "hypothesis>=6.130",
        "import-linter>=2.3",
        "mkdocs-material>=9.6",
        "mkdocstrings[python]>=0.29",
        "mpmath>=1.3",
        "mypy>=1.18",
        "pandas>=2.2",
        "pre-commit>=4.0",
        # With 9.2, pytest-xdist 3.8 leaves the groups of tests alone.
        "pytest>=8.4,<9.2",
        "pytest-xdist>=3.6",
        "ruff>=0.12",
        "scipy>=1.14",
        "setuptools>=70.1",
        "soundfile>=0.13",
        # The messages of TensorFlow Serving, for tests and benchmarks.
        "tensorflow-serving-api>=2.21",
        "wheel>=0.44",
    ],
}
# Every data file of a package, except test data, must match one of these;
# tests/packaging_test.py compares the wheel with the tree.
DATA_FILES = [
    "**/*.bib",
    "**/*.csv",
    "**/*.json",
    "**/*.md",
    "**/*.npz",
    "**/*.tsv",
    "**/*.txt",
    "py.typed",
]

setup(
    name="embeddings_tf",
    version=VERSION,
    description=(
        "Deep embeddings and distances in Keras: "
        "losses, samplers, measures and recipes"
    ),
    long_description=(
        README.read_text(encoding="utf-8") if README.exists() else ""
    ),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    packages=find_packages(
        include=[
            "embeddings_tf",
            "embeddings_tf.*",
            "trainers",
            "trainers.*",
            "tuning",
            "tuning.*",
        ]
    ),
    entry_points={"console_scripts": ["embeddings-tf = trainers.console:main"]},
    package_data={"": DATA_FILES},
    exclude_package_data={"": ["dummy_data/*", "*/dummy_data/*"]},
    include_package_data=False,
    python_requires=">=3.11,<3.14",
    install_requires=INSTALL_REQUIRES,
    extras_require=EXTRAS_REQUIRE,
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: MacOS",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Programming Language :: Python :: 3 :: Only",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    keywords="embeddings metric-learning few-shot tensorflow keras",
)
