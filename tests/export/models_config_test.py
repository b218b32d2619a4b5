"""models.config, read by the messages of tensorflow-serving-api."""

import errno
import os

import pytest
from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from embeddings_tf.export.models_config import FILE
from embeddings_tf.export.models_config import chosen_label
from embeddings_tf.export.models_config import label_version
from embeddings_tf.export.models_config import read_models_config
from tests.trainers.commands import refused
from tests.trainers.read_only import MESSAGE
from tests.trainers.read_only import make_read_only
from trainers import label_version as command

OTHER = """\
model_config_list {
  config {
    name: "other"
    base_path: "/elsewhere/other"
    model_platform: "tensorflow"
    logging_config { sampling_config { sampling_rate: 0.5 } }
    model_version_policy { latest { num_versions: 2 } }
  }
}
"""


def versions(folder, *numbers):
    for number in numbers:
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "saved_model.pb").write_bytes(b"")
    return folder


def entries(folder):
    """The models of the file, as TensorFlow Serving reads them."""
    config = text_format.Parse(
        (folder / FILE).read_text(), model_server_config_pb2.ModelServerConfig()
    )
    return {model.name: model for model in config.model_config_list.config}


def test_the_chosen_label_is_the_one_that_a_version_gets(tmp_path):
    """A version beside a stable one is a canary, also with a lower number."""
    model = versions(tmp_path / "words", 1, 5)
    assert chosen_label(model, 5) == "stable"
    label_version(model, 5)
    assert (chosen_label(model, 5), chosen_label(model, 1)) == (
        "stable",
        "canary",
    )
    assert label_version(model, 1) == {"stable": 5, "canary": 1}


def test_stable_then_canary_then_promoted(tmp_path):
    model = versions(tmp_path / "words", 1, 2)
    assert label_version(model, 1) == {"stable": 1}
    assert label_version(model, 2) == {"stable": 1, "canary": 2}
    entry = entries(tmp_path)["words"]
    assert dict(entry.version_labels) == {"stable": 1, "canary": 2}
    assert list(entry.model_version_policy.specific.versions) == [1, 2]
    assert entry.base_path == "/models/words"
    assert entry.model_platform == "tensorflow"
    assert label_version(model, 2, "stable") == {"stable": 2}
    entry = entries(tmp_path)["words"]
    assert list(entry.model_version_policy.specific.versions) == [2]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [
        FILE
    ]


def test_a_full_disk_keeps_the_old_file(tmp_path, monkeypatch):
    model = versions(tmp_path / "words", 1, 2)
    label_version(model, 1)
    before = (tmp_path / FILE).read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=FILE):
        label_version(model, 2)
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert files == [tmp_path / FILE] and files[0].read_bytes() == before


def test_labels_of_removed_versions_are_dropped(tmp_path):
    model = versions(tmp_path / "words", 1, 2)
    label_version(model, 1)
    (model / "1" / "saved_model.pb").unlink()
    (model / "1").rmdir()
    assert label_version(model, 2) == {"stable": 2}


def test_other_models_and_fields_stay(tmp_path):
    (tmp_path / FILE).write_text(OTHER)
    before = entries(tmp_path)["other"]
    label_version(versions(tmp_path / "words", 7), 7)
    found = entries(tmp_path)
    assert list(found) == ["other", "words"] and found["other"] == before
    # An own policy would contradict the labels, so it is replaced.
    label_version(versions(tmp_path / "other", 3), 3, "best")
    other = entries(tmp_path)["other"]
    assert dict(other.version_labels) == {"best": 3}
    assert other.model_version_policy.WhichOneof("policy_choice") == "specific"
    assert other.base_path == "/elsewhere/other"
    assert other.logging_config == before.logging_config


EVERY_FIELD = """\
model_config_list {
  config {
    name: "other"
    base_path: "/elsewhere/other"
    model_type: TENSORFLOW
    model_platform: "tensorflow"
    logging_config {
      log_collector_config { type: "file" filename_prefix: "/tmp/log" }
      sampling_config {
        sampling_rate: 0.5
        attributes: 1
        per_task_sampling_configs { dc: "a" task_index: 0 sampling_rate: 0.25 }
      }
      custom_logging_config {
        [type.googleapis.com/tensorflow.serving.LogCollectorConfig] {
          type: "own"
        }
      }
    }
    model_version_policy { specific { versions: 2 versions: 4 } }
    version_labels { key: "stable" value: 4 }
  }
}
"""


def test_every_field_of_tensorflow_serving_stays(tmp_path):
    (tmp_path / FILE).write_text(EVERY_FIELD)
    before = entries(tmp_path)["other"]
    names = {field.name for field in before.DESCRIPTOR.fields}
    assert names == {field.name for field, _ in before.ListFields()}
    label_version(versions(tmp_path / "words", 7), 7)
    assert entries(tmp_path)["other"] == before


def test_a_custom_config_is_valid_and_left_alone(tmp_path):
    text = 'custom_model_config { type_url: "own.org/Own" value: "\\001" }\n'
    (tmp_path / FILE).write_text(text)
    expected = text_format.Parse(
        text, model_server_config_pb2.ModelServerConfig()
    )
    found = read_models_config(tmp_path)
    assert found.SerializeToString() == expected.SerializeToString()
    with pytest.raises(ValueError, match="has a `custom_model_config`"):
        label_version(versions(tmp_path / "words", 1), 1)
    assert (tmp_path / FILE).read_text() == text


@pytest.mark.parametrize("policy", ["all", "latest", "specific"])
def test_a_policy_all_loads_every_label_and_stays(policy, tmp_path):
    model = versions(tmp_path / "other", 3, 4)
    (tmp_path / FILE).write_text(
        OTHER.replace("latest { num_versions: 2 }", f"{policy} {{ }}")
    )
    label_version(model, 3, "best")
    found = entries(tmp_path)["other"].model_version_policy
    if policy == "all":
        assert found.WhichOneof("policy_choice") == "all"
    else:
        assert list(found.specific.versions) == [3]


@pytest.mark.parametrize("label", ["", " ", "a b", "a/b", "a:b", "\0", "\n"])
def test_labels_that_fit_into_no_address(label, tmp_path):
    with pytest.raises(ValueError, match="must be letters.*received"):
        label_version(versions(tmp_path / "words", 1), 1, label)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("text", ["hostile", "models { }", '{"a": 1}', "\0"])
def test_a_damaged_file_is_refused_and_left_alone(text, tmp_path):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ValueError, match="not a ModelServerConfig"):
        label_version(versions(tmp_path / "words", 1), 1)
    assert (tmp_path / FILE).read_text() == text


def test_a_version_that_does_not_exist(tmp_path):
    with pytest.raises(ValueError, match="has no version 2"):
        label_version(versions(tmp_path / "words", 1), 2)
    assert not (tmp_path / FILE).exists()


def test_a_file_that_cannot_be_written(tmp_path, capsys, monkeypatch):
    model = versions(tmp_path / "words", 1)
    make_read_only(tmp_path, monkeypatch)
    words = ["--directory", model, "--version", 1]
    error = refused(capsys, command, *words)
    assert f"--directory {model}: {tmp_path / FILE} {MESSAGE}; make" in error


def test_command(tmp_path, capsys):
    model = versions(tmp_path / "words", 1, 2)
    words = ["--directory", str(model), "--version"]
    assert command.main([*words, "1"]) == 0
    assert command.main([*words, "2", "--label", "canary"]) == 0
    assert capsys.readouterr().out.endswith(
        "canary: version 2\nstable: version 1\n"
    )
    assert command.main([*words, "3"]) == 1
    assert "has no version 3" in capsys.readouterr().err
