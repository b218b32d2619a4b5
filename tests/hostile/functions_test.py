"""Invalid calls of every public function and class, in this process.

An invalid argument must raise a documented error that describes it. Every other
call must return a finite result that equals the result for the same numbers in
a plain form.
"""

import importlib
import inspect
import pathlib

import hypothesis
import pytest
from hypothesis import strategies

import embeddings_tf
from embeddings_tf.datasets import speech
from tests.hostile import judging

HERE = pathlib.Path(__file__).parent
ENTRIES = {}
for _path in sorted((HERE / "entries").glob("*.py")):
    _module = importlib.import_module(f"tests.hostile.entries.{_path.stem}")
    ENTRIES.update(getattr(_module, "ENTRIES", {}))
# One process counts the calls and has its own figures and folders.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("hostile functions"),
]


def public_names():
    """Every name that a user may import, as `package.name`."""
    packages = [
        getattr(embeddings_tf, name)
        for name in embeddings_tf.__all__
        if not name.startswith("__")
    ]
    for package in (*packages, speech):
        names = getattr(package, "__all__", None)
        if names is None:  # a module with its own functions
            names = [
                name
                for name, value in vars(package).items()
                if not name.startswith("_")
                and getattr(value, "__module__", None) == package.__name__
            ]
        prefix = package.__name__.removeprefix("embeddings_tf.")
        yield from (f"{prefix}.{name}" for name in names)


# Keras or a training calls these; the entry of the class makes it do so.
CALLED_BY_KERAS = {
    "build",
    "call",
    "compile",
    "compile_from_config",
    "compute_loss",
    "compute_mask",
    "compute_output_shape",
    "compute_output_spec",
    "from_config",
    "load_own_variables",
    "make_train_function",
    "on_epoch_begin",
    "on_epoch_end",
    "on_train_batch_begin",
    "on_train_batch_end",
    "on_train_begin",
    "on_train_end",
    "save_own_variables",
    "update_step",
}
# Methods without an entry, and why.
WITHOUT_ENTRY = {
    "losses.EmbeddingLoss.batch_diagnostics": "in the entries of the losses",
    "losses.BatchNeeds.teachable_rows": "in the entry of the class",
    "callbacks.EmbeddingDiagnostics.measure": "in the entry",
    "callbacks.EmbeddingEvaluation.measure": "in the entry",
    "callbacks.EmbeddingPictures.write_embeddings": "write, in the entry, "
    "calls it",
    "callbacks.EmbeddingProjector.write_embeddings": "write, in the entry, "
    "calls it",
    "callbacks.Throughput.measured": "tf.data checks its data set",
    "metrics.TrialHistogram.min_dcf": "in the entry of the class",
    "metrics.TrialHistogram.update": "in the entry of the class",
    **{
        f"models.BetaVAE.{name}": "fit and evaluate of Keras, whose steps pass "
        "their arguments on, check them"
        for name in ("compute_metrics", "test_step", "train_step")
    },
    **{
        f"models.{model}.{name}_on_batch": "Keras makes the step of fit and "
        "evaluate of them, which checks its arguments"
        for model in ("BetaVAE", "EmbeddingModel")
        for name in ("train", "test")
    },
    "models.EmbeddingModel.embed_with_uncertainty": "predict_uncertainty "
    "calls it",
    "models.EmbeddingModel.fit": "the entry trains; Keras checks the rest",
    "models.EmbeddingModel.quantize": "Keras checks its arguments",
    "models.FewShotClassifier.fit": "in the entry of the class",
    **{
        f"objectives.{name}.batch_diagnostics": "the call, represent, log_prob "
        "and score_pairs, which have entries, check the same arguments"
        for name in (
            "FullCovariancePrototypes",
            "HedgedInstances",
            "LearnedDistance",
            "SoftContrastive",
            "StochasticPrototypes",
        )
    },
    "scoring.IsotonicCalibration.fit": "in the entry of the class",
    "scoring.LogisticCalibration.fit": "in the entry of the class",
}


def public_methods():
    """Every method of a public class that a user may give arguments to."""
    for name in public_names():
        package, _, attribute = name.rpartition(".")
        package = importlib.import_module(f"embeddings_tf.{package}")
        found = getattr(package, attribute)
        if not inspect.isclass(found):
            continue
        for method in dir(found):
            owner = next(c for c in found.__mro__ if method in vars(c))
            is_ours = owner.__module__.startswith("embeddings_tf")
            if method.startswith("_") or not is_ours:
                continue
            value = getattr(found, method)
            if method in CALLED_BY_KERAS or not callable(value):
                continue
            parameters = list(inspect.signature(value).parameters)
            if inspect.isfunction(value):
                parameters = parameters[1:]  # without self
            if parameters:
                yield f"{name}.{method}"


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Files that a call writes to the current folder are removed."""
    monkeypatch.chdir(tmp_path)


def problems_of(name, descriptions_and_changes):
    entry = ENTRIES[name]
    for description, changes in descriptions_and_changes:
        problem = judging.problem_of(name, entry, changes)
        known = any(text in description for text in entry.known)
        if problem and not known:
            yield f"{description} -- {problem}"


@pytest.mark.parametrize("name", [*public_names()])
def test_a_public_name_has_hostile_calls(name):
    entries = [e for e in ENTRIES if e == name or e.startswith(f"{name}.")]
    assert entries, f"add {name} to tests/hostile/entries"


def test_a_public_method_has_hostile_calls_or_a_reason():
    methods = {*public_methods()}
    missing = methods - {*ENTRIES} - {*WITHOUT_ENTRY}
    assert not missing, f"add {sorted(missing)} to tests/hostile/entries"
    assert {*WITHOUT_ENTRY} <= methods - {*ENTRIES}, "reasons for nothing"


@pytest.mark.parametrize("name", ENTRIES)
def test_one_thing_at_a_time(name):
    ENTRIES[name].result({})  # else every refusal would be right
    problems = list(problems_of(name, ENTRIES[name].single()))
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("name", ENTRIES)
def test_several_things_at_once(name):
    """One of several invalid arguments must not hide another."""
    entry = ENTRIES[name]
    safe = {
        argument: [
            value
            for value in values
            # A value that is invalid alone may be valid with another argument.
            if value.name != "alone"
            and not any(
                text in f"{argument}: {value.name}" for text in entry.known
            )
        ]
        for argument, values in entry.hostile.items()
    }
    safe = {argument: values for argument, values in safe.items() if values}
    if len(safe) < 2:
        pytest.skip("has one argument")

    @hypothesis.settings(
        max_examples=6,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategies.data())
    def check(data):
        arguments = data.draw(
            strategies.lists(
                strategies.sampled_from(sorted(safe)),
                min_size=2,
                max_size=3,
                unique=True,
            )
        )
        changes = {
            argument: data.draw(strategies.sampled_from(safe[argument]))
            for argument in arguments
        }
        description = "; ".join(f"{a}: {h.name}" for a, h in changes.items())
        problems = list(problems_of(name, [(description, changes)]))
        assert not problems, problems[0]

    check()


def test_at_least_2000_calls_were_made(request):
    ran = {
        item.callspec.params["name"]
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_one_thing_at_a_time"
    }
    if ran != set(ENTRIES):
        pytest.skip("only some of the tests run")
    assert judging.calls.total() >= 2000
