"""The security pack as the engine starts it: with only this folder on the path, so the project's root is put
there first.
"""

import sys
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from policies.engine import serve
from policies.security.pack import PACK

serve(PACK, today=date.today)
