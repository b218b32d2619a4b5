"""The message `ModelServerConfig` of TensorFlow Serving's `models.config`."""

from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory

_PACKAGE = "embeddings_tf.models_config"
_FIELD = descriptor_pb2.FieldDescriptorProto
_TEXT, _INTEGER = _FIELD.TYPE_STRING, _FIELD.TYPE_INT64
_REPEATED, _SINGLE = _FIELD.LABEL_REPEATED, _FIELD.LABEL_OPTIONAL

# Fields by message: name, number, type or name of a message, label. From
# model_server_config.proto, logging_config.proto, log_collector_config.proto
# and file_system_storage_path_source.proto.
_MESSAGES = {
    "Latest": [("num_versions", 1, _FIELD.TYPE_UINT32, _SINGLE)],
    "All": [],
    "Specific": [("versions", 1, _INTEGER, _REPEATED)],
    "VersionPolicy": [
        ("latest", 100, "Latest", _SINGLE),
        ("all", 101, "All", _SINGLE),
        ("specific", 102, "Specific", _SINGLE),
    ],
    "LogCollector": [
        ("type", 1, _TEXT, _SINGLE),
        ("filename_prefix", 2, _TEXT, _SINGLE),
    ],
    "Sampling": [("sampling_rate", 1, _FIELD.TYPE_DOUBLE, _SINGLE)],
    "Logging": [
        ("log_collector_config", 1, "LogCollector", _SINGLE),
        ("sampling_config", 2, "Sampling", _SINGLE),
    ],
    "ModelConfig": [
        ("name", 1, _TEXT, _SINGLE),
        ("base_path", 2, _TEXT, _SINGLE),
        ("model_platform", 4, _TEXT, _SINGLE),
        ("logging_config", 6, "Logging", _SINGLE),
        ("model_version_policy", 7, "VersionPolicy", _SINGLE),
        ("version_labels", 8, "ModelConfig.VersionLabelsEntry", _REPEATED),
    ],
    "ModelConfigList": [("config", 1, "ModelConfig", _REPEATED)],
    "ModelServerConfig": [("model_config_list", 1, "ModelConfigList", _SINGLE)],
}
# A map is a repeated message of this name inside its parent.
_MAPS = {
    "ModelConfig": (
        "VersionLabelsEntry",
        [("key", 1, _TEXT, _SINGLE), ("value", 2, _INTEGER, _SINGLE)],
    )
}


def _message_class() -> type:
    """Builds the class in a pool of its own.

    The names do not collide with tensorflow-serving-api, which is not needed.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        _add_fields(message, fields)
        if name in _MAPS:
            entry_name, entry_fields = _MAPS[name]
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            _add_fields(entry, entry_fields)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"{_PACKAGE}.ModelServerConfig")
    )


def _add_fields(message, fields) -> None:
    for name, number, kind, label in fields:
        field = message.field.add(name=name, number=number, label=label)
        if isinstance(kind, str):
            field.type = _FIELD.TYPE_MESSAGE
            field.type_name = f".{_PACKAGE}.{kind}"
        else:
            field.type = kind


ModelServerConfig = _message_class()
