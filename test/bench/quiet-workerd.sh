#!/bin/sh
# Starts workerd without its output. The Worker formats and writes its log lines as usual, but the process that makes the
# load does not parse them on the cores that are measured.
exec "$QUIET_WORKERD" "$@" > /dev/null
