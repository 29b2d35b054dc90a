#!/bin/sh
# SPDX-License-Identifier: MIT
# Turns a text file into C: each line one string literal. Usage: file-to-c.sh NAME FILE > file.c
set -eu
echo "extern const char $1[];"
echo "const char $1[] ="
sed -e 's/[\\"]/\\&/g' -e 's/^/  "/' -e 's/$/\\n"/' "$2"
echo '  ;'
