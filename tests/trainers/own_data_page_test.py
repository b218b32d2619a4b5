"""The commands of docs/own_data.md run as printed, with short trainings."""

import numpy as np
import pytest

from tests.datasets.image_folders import write_image
from tests.datasets.speech_files import write_wav
from tests.trainers.commands import call
from tests.trainers.page_commands import MORE
from tests.trainers.page_commands import blocks
from tests.trainers.page_commands import run_commands
from trainers import train

PAGE = "own_data.md"
RNG = np.random.default_rng(0)


def write_data(folder):
    """Photographs of other sizes each, recordings and a table."""
    for number in range(20):
        centre = RNG.integers(40, 216, 3)
        for example in range(12):
            size = 60 + 2 * number + example, 110 - 3 * example
            noise = RNG.integers(-30, 30, (*size, 3))
            path = folder / "photos" / f"class_{number}" / f"{example}.png"
            write_image(path, centre + noise)
    lines = ["label,height,width,weight"]
    for number in range(8):
        for example in range(12):
            time = np.arange(4000 + 100 * example) / 8000
            wave = 9000 * np.sin(2000 * 1.2**number * time)
            path = folder / "recordings" / f"{number}" / f"{example}.wav"
            write_wav(path, wave.astype("int16"), 8000)
            row = RNG.normal(size=3) + number
            lines.append(",".join([f"class {number}", *map(str, row)]))
    (folder / "features.csv").write_text("\n".join(lines))
    for name, of in (("first", 0), ("second", 1)):
        source = folder / "recordings" / str(of) / "0.wav"
        (folder / f"{name}.wav").write_bytes(source.read_bytes())


@pytest.mark.slow
def test_every_command_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDINGS_TF_CACHE", str(tmp_path / "cache"))
    write_data(tmp_path)
    commands = [
        line.partition("  #")[0]
        for block in blocks(PAGE, "sh")
        for line in block.replace("\\\n", " ").splitlines()
    ]
    assert len(commands) == 8
    for command in commands:
        module = "python -m trainers.train "
        command = command.replace(module, "embeddings-tf train ")
        if "--check" in command:
            assert call(train, *command.split()[2:]) == 0
        elif "backbone.network" in command:
            # ImageNet's weights would be downloaded, and random weights of
            # MobileNetV2 shrink all images to one point.
            command = command.replace("MobileNetV2", "ResNet50V2")
            command = command.replace("num_features=1280", "num_features=2048")
            run_commands([f"{command} --config.backbone.weights=None"])
        else:
            run_commands([command])
    assert "ResNet50V2" in (tmp_path / "runs/head/recipe.py").read_text()
    assert "Computing features of" in capsys.readouterr().out


@pytest.mark.slow
def test_a_network_is_fine_tuned_on_images_of_other_sizes(
    tmp_path, monkeypatch
):
    """The fields of the page's table, with random weights."""
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    words = ["image_folder:photos", "--goal", "retrieve", "--workdir", "run"]
    fields = ["name=backbone_encoder", "backbone=MobileNetV2", "weights=None"]
    fields += ["learning_rate_factor=0.1", "image_shape=(32, 32, 3)"]
    words += [f"--config.encoder.{field}" for field in fields]
    words += ["--config.num_epochs=1", "--config.steps_per_epoch=2", *MORE]
    assert call(train, *words) == 0
