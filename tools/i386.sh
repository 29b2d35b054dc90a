#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A 32-bit Debian beside this machine's, to build foretrain for it: FOLDER gets libraries and headers of i386 (nothing
# is installed, no list of packages is changed) and cross.ini for meson, which compiles with clang.
# usage: tools/i386.sh FOLDER
set -euo pipefail
mkdir -p "$1/debs/partial" "$1/lists/partial"
folder=$(readlink -f "$1") root=$(readlink -f "$1")/root
packages="libc6 libc6-dev linux-libc-dev libcrypt1 libgcc-s1 libgcc-12-dev zlib1g libffi8 libpcre2-8-0 libmount1
  libblkid1 libselinux1 libglib2.0-0 libglib2.0-dev libpcre2-dev libffi-dev libmount-dev libblkid-dev libselinux1-dev
  libsepol-dev zlib1g-dev libyaml-0-2 libyaml-dev libsqlite3-0 libsqlite3-dev
  libjson-glib-1.0-0 libjson-glib-dev libcunit1 libcunit1-dev libncurses6 libtinfo6"
apt=(apt-get -qq -o APT::Architecture=i386 -o APT::Architectures=i386 -o "Dir::State::Lists=$folder/lists"
  -o APT::Sandbox::User=root)
if [ ! -e "$root/usr/lib/i386-linux-gnu/libglib-2.0.so" ]; then
  "${apt[@]}" update || echo "tools/i386.sh: goes on with the lists of packages that there are" >&2
  # shellcheck disable=SC2086
  (cd "$folder/debs" && "${apt[@]}" download $packages)
  for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$root"; done
fi
libraries=$root/usr/lib/i386-linux-gnu gcc=$root/usr/lib/gcc/i686-linux-gnu/12
printf '#!/bin/sh\nPKG_CONFIG_LIBDIR=%s PKG_CONFIG_SYSROOT_DIR=%s exec /usr/bin/pkg-config "$@"\n' \
  "$libraries/pkgconfig:$root/usr/share/pkgconfig" "$root" >"$folder/pkg-config"
chmod +x "$folder/pkg-config"
cat >"$folder/cross.ini" <<INI
[binaries]
c = 'clang'
ar = 'ar'
strip = 'strip'
pkgconfig = '$folder/pkg-config'
[built-in options]
c_args = ['--target=i686-linux-gnu', '--sysroot=$root']
c_link_args = ['--target=i686-linux-gnu', '--sysroot=$root', '-B$gcc', '-L$gcc',
  '-Wl,-rpath,$libraries:$root/lib/i386-linux-gnu', '-Wl,--dynamic-linker=$root/lib/i386-linux-gnu/ld-linux.so.2']
[host_machine]
system = 'linux'
cpu_family = 'x86'
cpu = 'i686'
endian = 'little'
INI
