# Makes page.js one script for a browser: sh build.sh.
exec node_modules/@esbuild/linux-x64/bin/esbuild page.js --bundle --format=iife --outfile=out.js --log-level=error \
  --define:global=window --inject:./globals.js --alias:buffer=buffer/ --alias:events=events/ \
  --alias:http=./none.js --alias:https=./none.js --alias:url=./none.js --alias:util=./none.js --alias:zlib=./none.js --alias:node:assert/strict=./none.js
