"""Internal mathematics and helpers that every part may import.

Most files contain pure functions on tensors, without Keras classes. `own_code`
loads a user's own Python, `arguments` checks arguments, and `atomic_file`,
`locked_folder` and `write_atomically` write files safely. `require_no_pipe`
checks a path before its file is read.
"""
