# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: plans runs of the programs of lab/peers/, records their samples, and makes tables and plots from recordings.

``peers`` finds the programs, ``runs`` performs one run, ``recording`` is the file of raw samples, ``figures`` the statistics,
``experiments`` the measurements, ``report`` and ``tables`` their presentation, ``accept`` the criteria.
"""
