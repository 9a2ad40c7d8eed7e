#!/bin/sh
# workerd whose log lines nobody reads: formatted and written like everywhere, but not parsed line by line in the process
# that makes the load, on the cores that are being measured.
exec "$QUIET_WORKERD" "$@" > /dev/null
