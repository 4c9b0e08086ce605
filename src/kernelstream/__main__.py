"""``python -m kernelstream`` is the console command."""

from .cli import main

main()
