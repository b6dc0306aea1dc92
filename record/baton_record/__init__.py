# SPDX-License-Identifier: Apache-2.0
"""Recording and replaying the messages of a domain: the verbs `record`, `play` and `bag`, and the classes by which programs do the same."""
