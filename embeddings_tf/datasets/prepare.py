"""Prepares a data set of TFDS from original files or a download."""

import contextlib
import random
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from embeddings_tf.compat import checksum_error
from embeddings_tf.compat import no_download_retries
from embeddings_tf.compat import size_and_checksum

DATA_VARIABLE = "EMBEDDINGS_TF_DATA"
MANUAL_VARIABLE = "EMBEDDINGS_TF_MANUAL"
_CONNECTION_SECONDS = 5


def prepare(tfds, builder, manual_dir):
    """Downloads and prepares a data set; TFDS writes all of it or nothing.

    The global states of random numbers stay, so a seeded program does the same
    whether its data was prepared before or not. Two processes with the same
    seed may prepare the same data at the same time.
    """
    from requests import exceptions

    config = tfds.download.DownloadConfig(
        manual_dir=manual_dir, try_download_gcs=False
    )
    try:
        with (
            _own_random_states(),
            contextlib.nullcontext()
            if hosts_answer(builder, manual_dir)
            else no_download_retries(),
        ):
            builder.download_and_prepare(download_config=config)
    except (
        exceptions.ConnectionError,
        exceptions.Timeout,
        tfds.download.DownloadError,
    ) as error:
        raise FileNotFoundError(
            _missing_file(builder, manual_dir, error)
        ) from error
    except checksum_error() as error:
        raise ValueError(_wrong_file(builder, manual_dir, error)) from error
    except AssertionError as error:
        # TFDS raises this error if files are missing in manual_dir.
        raise FileNotFoundError(
            f"{builder.info.full_name} needs files that you have to fetch by "
            f"hand; set {MANUAL_VARIABLE} or manual_dir to the folder that "
            f"contains them: {one_line(error)}"
        ) from error
    except ImportError as error:
        raise ImportError(
            f"{builder.info.full_name} needs a package that is not installed "
            "(pydub reads recordings: pip install 'embeddings_tf[speech]'; "
            "cv2 is OpenCV: pip install 'embeddings_tf[birds]'; h5py reads "
            "MATLAB files: pip install 'embeddings_tf[hdf5]'): "
            f"{one_line(error)}"
        ) from error
    except (OSError, tf.errors.OpError) as error:
        if isinstance(error, FileNotFoundError) and error.errno is None:
            # A builder of this library names the missing file itself.
            raise
        # Another process may have prepared the same data in the meantime.
        if not builder.data_path.exists():
            raise OSError(
                f"{builder.info.full_name} could not be prepared in "
                f"{builder.data_dir}; set {DATA_VARIABLE} or data_dir to a "
                f"writable folder with enough space: {one_line(error)}"
            ) from error


@contextlib.contextmanager
def _own_random_states() -> Iterator[None]:
    """TFDS draws names of folders from the numbers that seed Keras's layers.

    With the same seed, two processes would write into the same folder.
    """
    of_python, of_numpy = random.getstate(), np.random.get_state()
    random.seed()
    np.random.seed()
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


def hosts_answer(builder, manual_dir):
    """Tries to reach the hosts of files that are not in `manual_dir`."""
    import requests

    hosts = {
        "/".join(url.split("/", 3)[:3])
        for url, info in (builder.url_infos or {}).items()
        if url.startswith("http") and not _is_in_folder(info, manual_dir)
    }
    for host in sorted(hosts)[:3]:
        try:
            requests.head(host, timeout=_CONNECTION_SECONDS)
        except (requests.ConnectionError, requests.Timeout):
            return False
    return True


def _is_in_folder(info, folder):
    return (
        folder is not None
        and info.filename is not None
        and (folder / info.filename).exists()
    )


def _missing_file(builder, manual_dir, error):
    request = getattr(error, "request", None)
    url = getattr(request, "url", None)
    info = (builder.url_infos or {}).get(url)
    file = info.filename if info and info.filename else url or "a file"
    searched = (
        f"but neither {MANUAL_VARIABLE} nor manual_dir is set"
        if manual_dir is None
        else f"which is not in {manual_dir}"
    )
    where = f" from {url}" if url and file != url else ""
    return (
        f"{builder.info.full_name} needs {file}, {searched}, and it could "
        f"not be downloaded{where} ({type(error).__name__}); connect to a "
        f"network, or set {MANUAL_VARIABLE} to a folder with {file}."
    )


def _wrong_file(builder, manual_dir, error):
    for info in (builder.url_infos or {}).values():
        if not _is_in_folder(info, manual_dir):
            continue
        found = size_and_checksum(manual_dir / info.filename)
        if found != info:
            return (
                f"{manual_dir / info.filename} is truncated or altered: "
                f"expected {int(info.size)} bytes with sha256 {info.checksum}; "
                f"received {int(found.size)} bytes with sha256 "
                f"{found.checksum}; replace it by the original file."
            )
    return (
        f"A file of {builder.info.full_name} has unexpected contents; delete "
        f"it and try again: {one_line(error)}"
    )


def one_line(error):
    return " ".join(str(error).split())
