"""Programs that stand for vendors' programs in a lab node: they run there, not here.

Each directory is a package that the node's image holds in /usr/lib/trackbed-lab/standins. They use
the standard library alone and share no code with trackbed's readers: what they print is proved
against recorded outputs of the real programs.
"""
