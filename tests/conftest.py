import os

# Set before torch is imported: idle OpenMP threads of one worker must not spin against another's.
os.environ.setdefault("OMP_NUM_THREADS", "1")
