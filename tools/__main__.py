"""`caps bench study` with the studies of this repository beside those of the paper."""

import sys

from caps.bench.studies.catalogue import STUDIES
from caps.cli.main import main
from tools.catalogue import OURS

if __name__ == "__main__":
    STUDIES.update(OURS)
    main(["bench", "study", *sys.argv[1:]])
