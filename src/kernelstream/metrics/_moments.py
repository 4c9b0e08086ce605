"""Mean and squared deviation of a stream, followed value by value."""

from ..numerics.compile import compiled


@compiled
def gather_moments(moments, n, values):
    """Welford's update with one value after another, the first of them number n of the stream."""
    for i in range(values.shape[0]):
        shift = values[i] - moments[0]
        moments[0] += shift / (n + i + 1)
        moments[1] += shift * (values[i] - moments[0])
