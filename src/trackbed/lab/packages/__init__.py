"""The vendor packages of the lab: the real names, versions, dependencies and file lists.

What a package does is a stand-in, but package managers, DKMS and the compiler that handle it are
the real ones. `catalogue` says what there is, `stage` lays it out for the distribution's own
package builders, which run in the image of the lab's head.
"""
