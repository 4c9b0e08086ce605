"""``kernelstream tune``, and the configuration file that it writes for ``run --config``."""
