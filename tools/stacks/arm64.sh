#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/stacks/arm64.sh
#
# Makes tests/data/stacks/arm64.elf and arm64.stack: a program for aarch64 (arm64.c) and the stack that it
# saves, run by an emulator. Needs clang, ld.lld and qemu-aarch64-static (QEMU: another of that kind, absolute).
set -eu
cd "$(dirname "$0")/../.."
to=tests/data/stacks
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Return addresses signed; no frame pointers but where a frame's size varies.
${CLANG:-clang} --target=aarch64-linux-gnu -O2 -ffreestanding -fno-stack-protector \
    -fasynchronous-unwind-tables -mbranch-protection=pac-ret -fomit-frame-pointer \
    -Wall -Wextra -Wno-unused-parameter -nostdlib -static -fuse-ld=lld -Wl,--build-id=none \
    -Wl,-z,max-page-size=4096 -Wl,-z,norelro -o "$work/arm64" tools/stacks/arm64.c
(cd "$work" && env -i "${QEMU:-qemu-aarch64-static}" -cpu max ./arm64 >stack)
install -m 644 "$work/arm64" $to/arm64.elf
install -m 644 "$work/stack" $to/arm64.stack
ls -l $to/arm64.elf $to/arm64.stack
