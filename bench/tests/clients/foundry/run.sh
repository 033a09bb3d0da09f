# forge script, forge test over a fork, and cast against a node: sh run.sh URL. Exits with 1 when one fails.
set -e
url=$1 key=0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
forge=node_modules/@foundry-rs/forge-linux-amd64/bin/forge
cast=node_modules/@foundry-rs/cast-linux-amd64/bin/cast
export FOUNDRY_DISABLE_NIGHTLY_WARNING=1

BEFORE=$("$cast" block-number --rpc-url "$url")
"$forge" script script/Deploy.s.sol --rpc-url "$url" --broadcast --private-key $key
COUNTER=$(sed -n 's/.*"contractAddress": *"\(0x[0-9a-f]*\)".*/\1/p' broadcast/Deploy.s.sol/*/run-latest.json | head -1)
export BEFORE COUNTER
"$forge" test --fork-url "$url"
sh cast.sh "$cast" "$url" $key
