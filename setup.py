"""Packages: folders at the top of the repository lie under the one name rtcvt when installed."""

from setuptools import find_packages, setup

FOLDERS = ("fmu", "hil", "offline")

setup(
    packages=[
        *find_packages(include=["rtcvt", "rtcvt.*"]),
        *(f"rtcvt.{name}" for name in find_packages(include=[*FOLDERS, *(f"{f}.*" for f in FOLDERS)])),
    ],
    package_dir={"": ".", **{f"rtcvt.{folder}": folder for folder in FOLDERS}},
)
