"""The numbers of a version, to compare it by."""


def version_numbers(version: str) -> tuple[int, int, int]:
    """Major, minor and patch of a version such as `v1.11.4-rc1+dev`; a missing one is 0.

    Raises:
        ValueError: it has other parts than numbers.
    """
    release = version.removeprefix("v").split("-")[0].split("+")[0]
    major, minor, patch, *_ = (*map(int, release.split(".")), 0, 0)
    return major, minor, patch
