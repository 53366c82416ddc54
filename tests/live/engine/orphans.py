"""A plugin ends when the engine that started it is gone, however that went."""

import os
import threading
import time


def end_with_engine():
    """Watch the parent: the kernel's own signal would follow the thread that started this process, and Go's
    threads come and go.
    """
    engine = os.getppid()

    def watch():
        while os.getppid() == engine:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
