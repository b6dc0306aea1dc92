# SPDX-License-Identifier: Apache-2.0
"""Recording and replaying the messages of a domain: the verbs `record`, `play` and `bag`, and what programs use of them."""
