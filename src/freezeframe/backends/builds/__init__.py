"""Programs made of their sources before they are debugged. One small file per toolchain.

`find` looks at files and says what would be built; `make` builds it into a folder of our cache.
"""
