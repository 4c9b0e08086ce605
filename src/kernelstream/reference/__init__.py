"""The oracle: every algorithm once more in NumPy alone, from the paper's box, in the paper's symbols. Slow and plain.

``reference.<name>.run(spec, loss, X, y, outputs, seed)`` returns the scores (T, outputs) from before each round and the
number of stored points or features at the end. `loss(y, f)` gives (value, gradient), `kernels.matrix` kernel values.
"""
