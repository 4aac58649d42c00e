#!/bin/sh
set -eu

echo "asking $URL; it says: $GREETING"
{
  echo "api=healthy"
  echo "url=$URL"
} >> "$NUON_ACTIONS_OUTPUT_FILEPATH"
