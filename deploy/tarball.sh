#!/bin/sh
# The launcher of the tarball that tarball.cmake makes. Without a shell, from this folder:
#   lib/@loader@ --library-path lib lib/interference_exporter
here=$(dirname "$(readlink -f "$0")")
exec "$here/lib/@loader@" --library-path "$here/lib" "$here/lib/interference_exporter" "$@"
