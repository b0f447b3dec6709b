"""Print what is installed of what the site needs; ``--licences`` with its licences."""

import sys

from tensor_copies.machine.packages import main

if __name__ == "__main__":
    sys.exit(main())
