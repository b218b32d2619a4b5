"""Encoders, methods and data of the user's own, by `FILE.py:NAME`."""

import dataclasses
import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets.own_data import is_own_data
from tests.datasets.image_folders import write_classes
from tests.processes import Command
from tests.trainers.commands import QUICK
from tests.trainers.commands import ROOT
from tests.trainers.commands import call
from tests.trainers.commands import refused
from trainers import evaluate
from trainers import train
from trainers.config import load_recipe
from trainers.config import own_code_hashes
from trainers.config.build import build
from trainers.config.own_code import DATA_KINDS
from trainers.config.own_code import import_own_code
from trainers.config.own_code import own_code_names
from trainers.config.own_code import own_object
from trainers.config.own_code import require_loadable
from trainers.config.own_code import run_file
from trainers.config.run import Part
from trainers.config.run_checks import check_run
from trainers.config.run_config import complete
from trainers.config.run_config import config_of
from trainers.config.run_config import run_from_config
from trainers.config.run_help import help_of_run
from trainers.data.examples import LoadOptions
from trainers.data.examples import load
from trainers.training.checkpoint import load_best
from trainers.training.model import build_model
from trainers.workdirs.workdir import as_json

CODE = '''
import keras
import numpy as np
from embeddings_tf.objectives import EmbeddingObjective


def encoder(dim: int, width: int = 8):
    """An encoder.

    Args:
        dim: Dimensions of the embedding.
        width: Units of the hidden layer.
    """
    return keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(width, "relu"),
            keras.layers.Dense(dim),
        ]
    )


class Spread(keras.losses.Loss):
    """Distance of same-class rows over the distance of all, cubed."""

    def __init__(self, power: float = 3.0, **kwargs):
        super().__init__(**kwargs)
        self.power = power

    def call(self, y_true, y_pred):
        y_true = keras.ops.reshape(y_true, (-1,))
        same = keras.ops.cast(y_true[:, None] == y_true, y_pred.dtype)
        gap = keras.ops.sum((y_pred[:, None] - y_pred) ** 2, -1)
        value = keras.ops.sum(gap * same) / (1e-6 + keras.ops.sum(gap))
        value = value**self.power
        return keras.ops.square(y_pred[:, 0]) + value

    def get_config(self):
        return {**super().get_config(), "power": self.power}


class Forgetful(Spread):
    def __init__(self, share: float = 0.1, **kwargs):
        super().__init__(**kwargs)


class Weighted(EmbeddingObjective):
    def __init__(self, start: float = 1.0, **kwargs):
        super().__init__(**kwargs)
        self.start = start
        self.scale = self.add_weight(
            name="scale", initializer=keras.initializers.Constant(start)
        )

    def build(self, y_true_shape, y_pred_shape):
        pass

    def call(self, y_true, y_pred):
        return self.scale**2 * Spread().call(y_true, y_pred)

    def get_config(self):
        return {**super().get_config(), "start": self.start}


def no_encoder(dim: int):
    pass


def without_input(dim: int):
    return keras.Sequential([keras.layers.Dense(dim)])


def two_outputs(dim: int):
    inputs = keras.Input((5,))
    layers = keras.layers.Dense(dim), keras.layers.Dense(dim)
    return keras.Model(inputs, [layer(inputs) for layer in layers])


def of_nine(dim: int):
    return keras.Sequential([keras.Input((9,)), keras.layers.Dense(dim)])


def make_spread(power: float = 2.0):
    return Spread(power)


def make_cubic(exponent: float = 3.0):
    return Spread(exponent)


def points(split):
    number = {"train": 0, "validation": 1, "test": 2}[split]
    rng = np.random.default_rng(number)
    labels = np.repeat(np.arange(6), 6) + 6 * number
    centres = np.random.default_rng(9).normal(size=(18, 5))
    return (centres[labels] + rng.normal(size=(36, 5)) / 4).astype(
        "float32"
    ), labels


def uneven(split):
    return np.zeros((3, 5)), [0, 1]
'''


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


def words(code, *more):
    """Overrides that train own data, encoder and loss on top of a recipe."""
    return [
        f"dataset={code}:points",
        "data.label.feature=",
        "data.folds.num_folds=0",
        f"encoder.name={code}:encoder",
        "encoder.dim=3",
        f"method.name={code}:Spread",
        "batches.num_classes=4",
        "batches.num_per_class=3",
        "optimizer.learning_rate=0.01",
        "steps_per_epoch=2",
        "num_epochs=2",
        "deterministic=False",
        'evaluation.splits=("test",)',
        "validation.split=validation",
        *more,
    ]


def own_run(code, *more):
    return load_recipe("omniglot_retrieval_triplet", words(code, *more))


def test_arguments_types_and_help_come_from_the_file(code):
    run = own_run(code, "loss.power=2")
    assert run.method.kind == "loss" and run.method.arguments["power"] == 2.0
    assert own_run(code, f"method.name={code}:Weighted").method.kind == (
        "objective"
    )
    text = help_of_run("mine", run)
    assert "  --config.encoder.width=8  (int)\n" in text
    assert "        Units of the hidden layer.\n" in text
    with pytest.raises(ValueError, match="config.loss.power must be a number"):
        own_run(code, "loss.power=high")
    with pytest.raises(ValueError, match=r"mean config.encoder.width\?"):
        own_run(code, "encoder.widht=3")
    bare = dataclasses.replace(run, encoder=Part(f"{code}:encoder"))
    with pytest.raises(ValueError, match="config.encoder.dim; .*needs it"):
        check_run(bare)


def test_tensorflow_is_not_imported_for_it(code):
    script = (
        "import sys; from trainers.config import load_recipe; "
        "load_recipe('omniglot_retrieval_triplet', sys.argv[1:]); "
        "assert 'tensorflow' not in sys.modules and 'keras' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", script, *words(code)], cwd=ROOT, check=True
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("encoder.name=none.py:encoder", "there is no file none.py"),
        ("encoder.name={}:coder", "no class or function 'coder'; it has enc"),
        ("method.name={}:encoder", "config.loss.dim; .*encoder needs it"),
        ("dataset=none.py:points", "there is no file"),
        ("dataset={}:point", "no class or function 'point'; it has"),
        ("dataset={}:uneven", "received 2 labels of 3 examples"),
        ("dataset={}:encoder", "must return examples and labels"),
    ],
)
def test_wrong_names(code, word, message):
    with pytest.raises(ValueError, match=message):
        run = own_run(code, word.format(code))
        load(run.data.dataset, "train", LoadOptions())


def test_a_file_that_cannot_be_read(code, tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def encoder(:\n")
    with pytest.raises(ValueError, match="wrong.py cannot be read: Syntax"):
        own_run(code, f"encoder.name={wrong}:encoder")
    wrong.write_text("import nothing_of_this_name\n\ndef f(split):\n    ...\n")
    with pytest.raises(ValueError, match="wrong.py cannot be read: ModuleNot"):
        own_object(f"{wrong}:f")


def test_a_file_with_a_data_class(tmp_path):
    path = tmp_path / "points.py"
    path.write_text(
        "from __future__ import annotations\n"
        "import dataclasses\n"
        "@dataclasses.dataclass\n"
        "class Point:\n    x: float = 2.0\n"
    )
    assert own_object(f"{path}:Point")().x == 2
    assert run_file(path, "recipe_points").Point().x == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_encoder", "no_encoder must return a Keras model; received None"),
        ("without_input", r"known shape; begin it with keras.Input\(SHAPE\)"),
        ("two_outputs", r"have the shapes \[\(None, 3\), \(None, 3\)\]"),
        ("of_nine", "have 5 features, .* takes 9; it takes no other; change"),
    ],
)
def test_encoders_that_cannot_be_trained(code, name, message):
    run = own_run(code, f"encoder.name={code}:{name}")
    with pytest.raises(ValueError, match=message):
        build_model(run, tf.TensorSpec((None, 5), tf.float32))


def test_a_loss_that_forgets_its_arguments_is_refused(code):
    part = Part(f"{code}:Forgetful", {"share": 0.2})
    with pytest.raises(ValueError, match="leaves out share, which a resumed"):
        build(part, "loss")
    # A training without the argument has its default in `config.json`.
    with pytest.raises(ValueError, match="leaves out share, which a resumed"):
        build(Part(f"{code}:Forgetful"), "loss")
    made = build(Part(f"{code}:make_spread", {"power": 4.0}), "loss")
    assert made.power == 4.0
    made = build(Part(f"{code}:make_cubic", {"exponent": 5.0}), "loss")
    assert made.power == 5.0


def test_classes_are_registered_once(code):
    spread = own_object(f"{code}:Spread")
    assert own_object(f"{code}:Spread") is spread
    config = keras.saving.serialize_keras_object(spread(power=5.0))
    again = keras.saving.deserialize_keras_object(config)
    assert type(again) is spread and again.power == 5.0


def test_the_resolved_run_has_every_default(code):
    run = own_run(code)
    found = as_json(run)
    assert found["encoder"]["width"] == 8 and found["loss"]["power"] == 3.0
    assert found["optimizer"]["beta_1"] == 0.9
    demo = as_json(load_recipe("demo"))["objective"]
    assert demo["initial_noise_variance"] is None and demo["num_samples"] == 1
    again = run_from_config(found)
    assert as_json(again) == found
    assert config_of(again)["loss"]["power"] == 3.0


def start(code, workdir, *more):
    found = words(code, *more)
    flags = [f"--config.{word}" for word in found]
    recipe = "omniglot_retrieval_triplet"
    return ["--config", recipe, "--workdir", workdir, *flags]


def test_only_what_the_training_sets_is_no_field(code):
    """A sampler's `seed`; an objective of one's own may have a `start`."""
    run = own_run(code, f"method.name={code}:Weighted", "method.start=2.0")
    assert run.method.arguments["start"] == 2.0
    sampler = code.with_name("own_sampler.py")
    sampler.write_text(
        "def pairs(labels, num_classes=None, num_per_class=2, *, seed=0, "
        "start=0):\n    return labels\n"
    )
    own = f"batches.name={sampler}:pairs"
    run = complete(own_run(code, own, "batches.num_classes=7"))
    text = help_of_run("mine", run)
    assert "--config.batches.num_classes=7" in text
    assert "--config.batches.seed" not in text
    assert run.batches.arguments["num_classes"] == 7
    assert {"seed", "start"}.isdisjoint(run.batches.arguments)
    assert run_from_config(config_of(run)).batches == run.batches
    found = build(run.batches, "batches", labels=[1, 2], seed=3, start=4)
    assert found == [1, 2]
    for name in ("seed", "start", "labels"):
        with pytest.raises(ValueError, match=f"unknown field .*{name}"):
            own_run(code, own, f"batches.{name}=3")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Spread", "Weighted"])
def test_trained_and_evaluated(code, method, tmp_path):
    workdir = tmp_path / "run"
    command = start(code, workdir, f"method.name={code}:{method}")
    assert call(train, *command) == 0
    config = json.loads((workdir / "config.json").read_text())["config"]
    assert config["encoder"] == {
        "name": f"{code}:encoder",
        "dim": 3,
        "width": 8,
    }
    # A comment does not matter to a model that is only used.
    code.write_text(code.read_text() + "# edited\n")
    own_code_hashes._hash.cache_clear()
    assert call(evaluate, "--workdir", workdir) == 0
    results = json.loads((workdir / "results.json").read_text())
    assert np.isfinite(results["training"]["best_value"])
    assert results["evaluation"]["test"]["examples"] == 36


# Ends the process at once when its first checkpoint is written.
END_AFTER_AN_EPOCH = """
import os
from trainers.training import checkpoint

save = checkpoint.Checkpoint.on_epoch_end

def save_and_end(*arguments, **options):
    save(*arguments, **options)
    os._exit(9)

checkpoint.Checkpoint.on_epoch_end = save_and_end
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Spread", "Weighted"])
def test_resumed_and_evaluated_in_other_processes(code, method, tmp_path):
    workdir = tmp_path / "run"
    words = start(code, workdir, f"method.name={code}:{method}")
    killed = Command("trainers.train", *words, code_before=END_AFTER_AN_EPOCH)
    killed.communicate()
    assert killed.returncode == 9
    resumed = Command("trainers.train", *words)
    out, err = resumed.communicate()
    assert resumed.returncode == 0, err
    assert "Resuming after epoch 1." in out
    evaluated = Command("trainers.evaluate", "--workdir", workdir)
    _, err = evaluated.communicate()
    assert evaluated.returncode == 0, err


def test_a_wrong_name_is_one_line(capsys, tmp_path, in_checkout):
    start = ["--config", "demo", "--workdir", tmp_path / "run"]
    error = refused(capsys, train, *start, "--config.dataset=no.py:data")
    assert "there is no file no.py" in error


def test_names_of_code_in_a_config():
    """Data sets that are read by a file or module of one's own are code."""
    config = {
        "dataset": "mine.py:points",
        "data_dir": "/data/a:b",
        "backbone": {"network": "some.module:network"},
        "encoder": {"name": "../a folder/mine.py:encoder", "layers": [3, "a"]},
        "loss": {"name": "TripletLoss", "parts": [{"name": "os:system"}]},
        "evaluation": {"file": "image_folder:photos"},
    }
    assert own_code_names(config) == [
        "mine.py:points",
        "some.module:network",
        "../a folder/mine.py:encoder",
        "os:system",
    ]
    assert all(is_own_data(f"{kind}:photos") for kind in DATA_KINDS)
    assert own_code_names([f"{kind}:photos" for kind in DATA_KINDS]) == []


PARTS = """
import keras


def activated(x):
    return keras.ops.tanh(x)


class Double(keras.layers.Layer):
    def call(self, x):
        return 2 * x


def encoder(dim: int):
    return keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(dim, activation=activated),
            Double(),
        ]
    )


def with_lambda(dim: int):
    return keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(dim),
            keras.layers.Lambda(lambda x: x / 2),
        ]
    )


class Scale(keras.layers.Layer):
    def __init__(self, factors):
        super().__init__()
        self.factors = factors

    def call(self, x):
        return x * self.factors


def without_config(dim: int):
    return keras.Sequential(
        [keras.Input((5,)), keras.layers.Dense(dim), Scale([[2.0]])]
    )


def network():
    return keras.Sequential([keras.layers.Conv2D(3, 3), Double()])
"""


SCALE = """
import keras


class Scale(keras.layers.Layer):
    def call(self, x):
        return {factor} * x


class Loss(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return keras.ops.square(y_pred[:, 0])


def encoder(dim: int):
    layers = keras.layers.Dense(dim, kernel_initializer="ones"), Scale()
    return keras.Sequential([keras.Input((5,)), *layers])
"""


def write_scales(folder, *factors):
    """Writes files of one name: `2/mine.py` has a layer that doubles."""
    files = [folder / str(factor) / "mine.py" for factor in factors]
    for file, factor in zip(files, factors, strict=True):
        file.parent.mkdir()
        file.write_text(SCALE.format(factor=factor))
    return files


def parts(encoder, loss):
    return {
        "encoder": {"name": f"{encoder}:encoder"},
        "loss": {"name": f"{loss}:Loss"},
    }


def test_files_of_one_name_with_a_class_of_one_name(code, tmp_path, capsys):
    two, none = write_scales(tmp_path, 2, 0)
    error = "both define .*, which Keras knows as 'mine>.*; rename it in one"
    shared = import_own_code(parts(two, none))
    assert set(shared) == {"mine>Scale", "mine>Loss", "mine>encoder"}
    model = own_object(f"{two}:encoder")(1)
    with pytest.raises(ValueError, match=f"^{two} and {none} {error}"):
        require_loadable(model, parts(two, none))
    # A part of no model, such as a helper, may have the same name.
    plain = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
    require_loadable(plain, parts(two, none))
    fields = f"method.name={two}:Loss", f"encoder.name={none}:encoder"
    words_ = start(code, tmp_path / "run", *fields)
    assert "both define" in refused(capsys, train, *words_)
    assert not (tmp_path / "run").exists()
    # One file by two paths, and classes of other names.
    (tmp_path / "link").symlink_to(two.parent)
    assert not import_own_code(parts(two, tmp_path / "link" / "mine.py"))
    for old, new in (
        ("Scale", "Gain"),
        ("ss Loss", "ss Zero"),
        ("encoder", "net"),
    ):
        none.write_text(none.read_text().replace(old, new))
    other = none.parent.rename(tmp_path / "b") / "mine.py"  # is run anew
    config = parts(two, other)
    config["loss"]["name"] = f"{other}:Zero"
    assert not import_own_code(config)


def test_a_class_that_files_register_by_one_name(tmp_path):
    (tmp_path / "b").mkdir()
    files = tmp_path / "one.py", tmp_path / "b" / "two.py"
    for file in files:
        file.write_text(
            "import keras\n"
            "@keras.saving.register_keras_serializable('ours', 'Part')\n"
            f"class Of{file.stem}(keras.layers.Layer):\n    pass\n"
        )
    config = {
        "encoder": {"name": f"{files[0]}:Ofone", "backbone": None},
        "loss": {"name": "TripletLoss"},
    }
    assert not import_own_code(config)
    config["encoder"]["backbone"] = f"{files[1]}:Oftwo"
    layer = own_object(f"{files[0]}:Ofone")()
    model = keras.Sequential([keras.Input((5,)), layer])
    error = "both define Part, .*'ours>Part'.*; rename it in one of them$"
    with pytest.raises(ValueError, match=error):
        require_loadable(model, config)


def test_a_finished_run_loads_unless_a_class_has_two_meanings(code, tmp_path):
    two, none = write_scales(tmp_path, 2, 0)
    none.write_text(none.read_text().replace("Scale", "Gain"))
    fields = f"method.name={none}:Loss", f"encoder.name={two}:encoder"
    workdir = tmp_path / "run"
    assert call(train, *start(code, workdir, *fields)) == 0
    load_best(workdir)  # both files have a `Loss`, which is not loaded
    (tmp_path / "later").mkdir()
    later = tmp_path / "later" / "mine.py"
    later.write_text(SCALE.format(factor=0))
    config = (workdir / "config.json").read_text()
    (workdir / "config.json").write_text(config.replace(str(none), str(later)))
    with pytest.raises(ValueError, match=f"{two}.* both define Scale"):
        load_best(workdir)


def test_every_run_loads_with_its_own_file(tmp_path):
    """Also after a run whose file has the same name, in one process."""
    x, files = np.ones((1, 5), "float32"), write_scales(tmp_path, 2, 3)
    for file in files:
        import_own_code(parts(file, file))
        own_object(f"{file}:encoder")(1).save(file.parent / "a.keras")
    for file, factor in zip([*files, files[0]], (2, 3, 2), strict=True):
        import_own_code(parts(file, file))
        model = keras.saving.load_model(file.parent / "a.keras")
        assert model.predict_on_batch(x).tolist() == [[5 * factor]]


def test_objects_of_a_file_need_no_names(tmp_path):
    """A layer, and a function without a name, beside a class."""
    file = tmp_path / "layers_.py"
    file.write_text(
        SCALE.format(factor=2) + "\nscale = Scale()\nhalf = lambda x: x / 2\n"
    )
    assert own_object(f"{file}:half")(3) == 1.5
    import_own_code(parts(file, file))


@pytest.mark.slow
def test_functions_and_layers_of_the_file_load_again(code, tmp_path):
    (tmp_path / "parts.py").write_text(PARTS)
    words_ = start(
        code, tmp_path / "run", f"encoder.name={tmp_path / 'parts.py'}:encoder"
    )
    assert call(train, *words_) == 0
    assert call(evaluate, "--workdir", tmp_path / "run") == 0


@pytest.mark.parametrize("part", ["with_lambda", "without_config"])
def test_what_could_not_be_loaded_is_refused_before_the_training(
    part, code, tmp_path, capsys
):
    (tmp_path / "parts.py").write_text(PARTS)
    name = f"encoder.name={tmp_path / 'parts.py'}:{part}"
    error = refused(capsys, train, *start(code, tmp_path / "run", name))
    assert "a checkpoint of this model could not be loaded" in error
    assert "Give every layer get_config(), write a layer instead" in error
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_fine_tuned_network_with_own_layers_loads_again(tmp_path):
    """In another process, which has not run the file."""
    (tmp_path / "parts.py").write_text(PARTS)
    write_classes(tmp_path / "photos", list("abcdefgh"), 6, (9, 9, 3))
    fields = [
        "encoder.name=backbone_encoder",
        f"encoder.backbone={tmp_path / 'parts.py'}:network",
        "encoder.weights=None",
        "encoder.image_shape=(9, 9, 3)",
    ]
    run = tmp_path / "run"
    found = f"image_folder:{tmp_path / 'photos'}", "--goal", "retrieve"
    flags = [f"--config.{field}" for field in fields]
    command = [*found, "--workdir", run, *QUICK, *flags]
    assert call(train, *command, "--config.steps_per_epoch=2") == 0
    evaluated = Command("trainers.evaluate", "--workdir", run)
    _, err = evaluated.communicate()
    assert evaluated.returncode == 0, err


def test_a_file_runs_as_it_is_now(tmp_path, monkeypatch):
    """Python would take compiled code for current, by time and size."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    for number in (1, 2):
        path.write_text(f"number = {number}\n")
        os.utime(path, (1e9, 1e9))
        assert run_file(path, "mine").number == number
    assert [file.name for file in tmp_path.iterdir()] == ["mine.py"]
