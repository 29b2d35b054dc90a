#!/bin/sh
# SPDX-License-Identifier: MIT
# Turns schema.sql into C: each line one string literal. Usage: schema-to-c.sh schema.sql > schema.c
set -eu
echo 'extern const char store_schema_text[];'
echo 'const char store_schema_text[] ='
sed -e 's/[\\"]/\\&/g' -e 's/^/  "/' -e 's/$/\\n"/' "$1"
echo '  ;'
