"""A folder of recordings, from training to answers, for each goal."""

import shutil

import numpy as np
import pytest

from tests.trainers.commands import QUICK
from tests.trainers.commands import call
from trainers import enroll
from trainers import evaluate
from trainers import identify
from trainers import nearest
from trainers import train
from trainers import verify

RATE, SPEAKERS, RECORDINGS = 8000, 10, 5


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    """Speakers with a pitch each, in recordings of different lengths."""
    import tensorflow as tf

    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("data") / "voices"
    for speaker in range(SPEAKERS):
        for number in range(RECORDINGS):
            time = np.arange(4000 + 500 * number) / RATE
            tone = np.sin(2 * np.pi * 200 * 1.2**speaker * time)
            samples = 0.3 * tone + 0.02 * rng.normal(size=len(time))
            wave = tf.audio.encode_wav(samples[:, None].astype("f4"), RATE)
            name = f"{folder}/speaker_{speaker}/{number}.wav"
            tf.io.write_file(name, wave)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["few_shot", "retrieve", "verify"])
def test_from_training_to_answers(goal, voices, tmp_path, capsys):
    run, gallery = tmp_path / "run", tmp_path / "gallery.npz"
    words = f"audio_folder:{voices}", "--goal", goal, "--workdir", run
    assert call(train, *words, *QUICK, "--config.steps_per_epoch=3") == 0
    assert call(evaluate, "--workdir", run) == 0
    words = f"audio_folder:{voices}", "--split", "test", "--workdir", run
    words += "--gallery", gallery, "--examples-per-class", 3
    assert call(enroll, *words) == 0
    capsys.readouterr()
    words = "--gallery", gallery, "--split", "test"
    assert call(identify, *words) == 0
    # Two recordings of each of two classes are not enrolled.
    assert "Of 4 inputs of enrolled classes" in capsys.readouterr().out
    assert call(nearest, *words, "--k", 2) == 0
    assert "Of 10 inputs" in capsys.readouterr().out
    files = [voices / "speaker_0" / f"{number}.wav" for number in range(2)]
    words = "--workdir", run, "--false-accept-rate", 0.1
    assert call(verify, *files, *words) == 0
    assert "log ratio" in capsys.readouterr().out
    # Held-out speakers of another folder.
    others = tmp_path / "others"
    for number in (8, 9):
        shutil.copytree(voices / f"speaker_{number}", others / f"new_{number}")
    assert call(verify, *files, *words, "--calibration", others) == 0
    assert "log ratio" in capsys.readouterr().out
