"""CIFAR-10 through the entry point, in its own format and network."""

import io
import json
import tarfile
from unittest import mock

import keras
import numpy as np
import pytest
from tensorflow_datasets.core.download import checksums
from tensorflow_datasets.image_classification import cifar

from embeddings_tf.optimizers import SGDWithL2
from tests.trainers.images import images
from trainers import train
from trainers.training import checkpoint

ARCHIVE = "cifar-10-binary.tar.gz"
SHORT = (
    "deterministic=False",
    "steps_per_epoch=1",
    "num_epochs=1",
    "split=train[:80]",
    "validation.split=train[80:]",
    "batches.num_classes=3",
    "batches.num_per_class=2",
)


@pytest.fixture
def original_file(tmp_path):
    """A small version of the published archive: 5 times 20 and 30 images."""
    x, labels = images(10, 13, (32, 32, 3))
    parts = {f"data_batch_{i}.bin": 20 * (i - 1) for i in range(1, 6)}
    parts["test_batch.bin"] = 100
    path = tmp_path / "manual" / "cifar10" / ARCHIVE
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:

        def add(name, data):
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))

        for name, first in parts.items():
            rows = range(first, first + (30 if name[0] == "t" else 20))
            # A byte for the label, then all red, all green, all blue bytes.
            add(
                name,
                b"".join(
                    bytes([labels[i]]) + x[i].transpose(2, 0, 1).tobytes()
                    for i in rows
                ),
            )
        names = [f"class {number}" for number in range(10)]
        add("batches.meta.txt", "\n".join(names).encode())
    (url,) = (u for u in cifar.Cifar10.url_infos if u.endswith(ARCHIVE))
    found = checksums.compute_url_info(path)
    found.filename = ARCHIVE
    with mock.patch.object(cifar.Cifar10, "url_infos", {url: found}):
        yield path


@pytest.mark.slow
def test_one_step_of_the_published_training(original_file, tmp_path):
    code = train.main(
        [
            *("--config", "cifar10_learned_distance"),
            *("--workdir", str(tmp_path / "run")),
            f"--config.data_dir={tmp_path / 'data'}",
            f"--config.manual_dir={original_file.parents[1]}",
            *(f"--config.{field}" for field in SHORT),
        ]
    )
    assert code == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    (epoch,) = results["training"]["history"]
    assert np.isfinite(epoch["loss"])
    assert 0 <= epoch["val_accuracy_at_equal_error"] <= 1
    assert epoch["learning_rate"] == pytest.approx(0.01)

    model, _ = checkpoint.restore(tmp_path / "run" / "checkpoints")
    assert model.encoder.output_shape == (None, 512)
    # 1024 -> 350 -> 350 -> 350 -> 1, each with biases.
    assert model.objective.distance.count_params() == 604_801
    assert model.objective.num_classes == 10
    optimizer = model.optimizer
    assert isinstance(optimizer, SGDWithL2)
    assert int(optimizer.iterations) == 1
    assert (optimizer.momentum, optimizer.l2) == (0.9, 1e-3)
    keras.backend.clear_session()
