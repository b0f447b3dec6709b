"""Print the fingerprint of this machine: the signature, then what it stands for."""

import sys

from tensor_copies.machine.fingerprint import main

if __name__ == "__main__":
    sys.exit(main())
