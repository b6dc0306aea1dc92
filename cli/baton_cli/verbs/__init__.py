# SPDX-License-Identifier: Apache-2.0
"""One module per verb; the module's name is the verb's (underscores become hyphens), its ``command`` the click command."""
