#!/usr/bin/env bash
# Asks a document with jq and gives the results as a list.
set -uo pipefail

input=$SECBOX_INPUT
scratch=$(mktemp -d)
# All in one call, as jq takes longer to start than for all else here. The filter goes to a file, as it may begin with a
# dash; a path may have a line break in it.
{
  read -r most
  read -r encoded_path
  cat >"$scratch/filter.jq"
} < <(jq -r '.max_results, (.file.path // "" | @base64),
  if .file then .filter else ".document | (\(.filter)\n)" end' "$input")

file=$input
if [ -n "$encoded_path" ]; then file=$(base64 -d <<<"$encoded_path"); fi

# head ends jq early when there are more results than are wanted: that is no failure (141).
jq -c -f "$scratch/filter.jq" "$file" 2>"$scratch/errors" | head -n $((most + 1)) >"$scratch/results"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ] && [ "$status" -ne 141 ]; then
  if grep -q 'parse error' "$scratch/errors"; then
    echo "The file is not JSON:" >&2
  elif [ "$status" -eq 3 ]; then
    echo "The filter is not one that jq understands:" >&2
  else
    echo "The filter does not fit the document:" >&2
  fi
  head -c 4000 "$scratch/errors" >&2
  exit 2
fi

truncated=false
if [ "$(wc -l <"$scratch/results")" -gt "$most" ]; then truncated=true; fi
{
  echo '{"results": ['
  head -n "$most" "$scratch/results" | paste -sd ,
  echo "], \"truncated\": $truncated}"
} >/workspace/artifacts/output.json
