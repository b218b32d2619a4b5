"""Errors of reading a damaged ZIP file, such as one of `numpy.savez`."""

import zipfile
import zlib

# zipfile raises RuntimeError if a damaged header names an unknown method of
# compression.
UNREADABLE_ZIP = (EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
