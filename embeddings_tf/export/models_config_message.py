"""The message `ModelServerConfig` of TensorFlow Serving's `models.config`."""

from google.protobuf import any_pb2
from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory

_PACKAGE = "embeddings_tf.models_config"
_FIELD = descriptor_pb2.FieldDescriptorProto
_TEXT, _INTEGER = _FIELD.TYPE_STRING, _FIELD.TYPE_INT64
_REPEATED, _SINGLE = _FIELD.LABEL_REPEATED, _FIELD.LABEL_OPTIONAL
_ANY = "google.protobuf.Any"

# Fields by message: name, number, type or name of a message or enum, label.
# From model_server_config.proto, logging_config.proto,
# log_collector_config.proto and file_system_storage_path_source.proto.
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
    "TaskSampling": [
        ("dc", 1, _TEXT, _SINGLE),
        ("task_index", 2, _FIELD.TYPE_INT32, _SINGLE),
        ("sampling_rate", 3, _FIELD.TYPE_DOUBLE, _SINGLE),
    ],
    "Sampling": [
        ("sampling_rate", 1, _FIELD.TYPE_DOUBLE, _SINGLE),
        ("attributes", 2, _FIELD.TYPE_INT32, _SINGLE),
        ("per_task_sampling_configs", 3, "TaskSampling", _REPEATED),
    ],
    "Logging": [
        ("log_collector_config", 1, "LogCollector", _SINGLE),
        ("sampling_config", 2, "Sampling", _SINGLE),
        ("custom_logging_config", 3, _ANY, _SINGLE),
    ],
    "ModelConfig": [
        ("name", 1, _TEXT, _SINGLE),
        ("base_path", 2, _TEXT, _SINGLE),
        ("model_type", 3, "ModelType", _SINGLE),
        ("model_platform", 4, _TEXT, _SINGLE),
        ("logging_config", 6, "Logging", _SINGLE),
        ("model_version_policy", 7, "VersionPolicy", _SINGLE),
        ("version_labels", 8, "ModelConfig.VersionLabelsEntry", _REPEATED),
    ],
    "ModelConfigList": [("config", 1, "ModelConfig", _REPEATED)],
    "ModelServerConfig": [
        ("model_config_list", 1, "ModelConfigList", _SINGLE),
        ("custom_model_config", 2, _ANY, _SINGLE),
    ],
}
# Names of values by enum; the numbers count from 0.
_ENUMS = {"ModelType": ("MODEL_TYPE_UNSPECIFIED", "TENSORFLOW", "OTHER")}
# Fields of which a message has at most one.
_CHOICES = {
    "VersionPolicy": ("policy_choice", {"latest", "all", "specific"}),
    "TaskSampling": ("task_index_oneof", {"task_index"}),
    "ModelServerConfig": (
        "config",
        {"model_config_list", "custom_model_config"},
    ),
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
    of_any = descriptor_pb2.FileDescriptorProto()
    any_pb2.DESCRIPTOR.CopyToProto(of_any)
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE}.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=[of_any.name],
    )
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        _add_fields(message, fields)
        if name in _MAPS:
            entry_name, entry_fields = _MAPS[name]
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            _add_fields(entry, entry_fields)
        if name in _CHOICES:
            choice, names = _CHOICES[name]
            message.oneof_decl.add(name=choice)
            for field in message.field:
                if field.name in names:
                    field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(of_any)
    pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName(f"{_PACKAGE}.ModelServerConfig")
    )


def _add_fields(message, fields) -> None:
    for name, number, kind, label in fields:
        field = message.field.add(name=name, number=number, label=label)
        if not isinstance(kind, str):
            field.type = kind
            continue
        is_enum = kind in _ENUMS
        field.type = _FIELD.TYPE_ENUM if is_enum else _FIELD.TYPE_MESSAGE
        field.type_name = f".{kind}" if kind == _ANY else f".{_PACKAGE}.{kind}"


ModelServerConfig = _message_class()
