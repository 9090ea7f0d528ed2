"""`python -m longthread.graph.cli`, the same as `longthread`."""

import sys

from longthread.graph.cli.main import main

sys.exit(main())
