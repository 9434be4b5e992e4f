#!/usr/bin/env python3
"""tools/rdma_vm/siw.py: what is mended in soft-iWARP's source."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["TEST_SRCDIR"], "weft/tools"))

from rdma_vm import siw

POST = """\
	} else {
		qp->tx_ctx.in_syscall = 1;

		if (siw_qp_sq_process(qp) != 0 && !(qp->tx_ctx.tx_suspend))
			siw_qp_cm_drop(qp, 0);

		qp->tx_ctx.in_syscall = 0;
	}
"""

MENDED = """\
	} else {

		if (siw_qp_sq_process(qp) != 0 && !(qp->tx_ctx.tx_suspend))
			siw_qp_cm_drop(qp, 0);

	}
"""


class SiwTest(unittest.TestCase):
    def test_nobody_says_that_it_is_in_a_system_call(self):
        self.assertEqual(siw.mended(POST), MENDED)

    def test_a_source_without_the_fault_stays(self):
        self.assertEqual(siw.mended(MENDED), MENDED)


if __name__ == "__main__":
    unittest.main()
