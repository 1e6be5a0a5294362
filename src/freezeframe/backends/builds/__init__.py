"""Build programs from source before they are debugged. One small file per toolchain.

`toolchains` looks at files and finds the toolchain; `build_cache.make` builds into a folder of our
cache.
"""
