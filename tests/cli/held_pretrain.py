"""`caps pretrain` that waits for its end in the middle of a stage: STAGE, then the arguments."""

import sys
import time
from typing import Any

import numpy as np

from caps.cli.main import main
from caps.realize import pretrain

STEPS = 5  # of one sitting, then it waits


def held(*given: Any, name: str, **options: Any) -> Any:
    stage, batches, schedule = given
    steps = 0

    def held_batches(size: int, generator: np.random.Generator) -> Any:
        nonlocal steps
        steps += 1
        while name == sys.argv[1] and steps > STEPS:
            time.sleep(1)
        return batches(size, generator)

    return train(stage, held_batches, schedule, name=name, **options)


if __name__ == "__main__":
    train, pretrain.train = pretrain.train, held
    main(sys.argv[2:])
