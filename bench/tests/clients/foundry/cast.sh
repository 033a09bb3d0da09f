# What cast asks a node, each command once: sh cast.sh CAST URL KEY. Prints a line for each, and exits with 1
# when one fails.
cast=$1 url=$2 key=$3 failed=0
export ETH_RPC_URL=$url FOUNDRY_DISABLE_NIGHTLY_WARNING=1
from=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
to=0x70997970C51812dc3A010C7d01b50e0d17dc79C8

check() {
  what=$1
  shift
  if out=$("$cast" "$@" 2>&1); then
    echo "ok   cast $what"
  else
    failed=1
    echo "FAIL cast $what: $out"
  fi
}

field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -1; }

code=$(sed -n 's/.*"bytecode":{"object":"\(0x[0-9a-f]*\)".*/\1/p' out/Counter.sol/Counter.json)
made=$("$cast" send --private-key $key --json --create $code)
at=$(echo "$made" | field contractAddress)
sent=$("$cast" send --private-key $key --json $at 'set(uint256)' 7)
hash=$(echo "$sent" | field transactionHash)

check "chain" chain
check "chain-id" chain-id
check "client" client
check "block-number" block-number
check "block" block latest
check "block --full" block latest --full
check "block pending" block pending
check "age" age
check "find-block" find-block 1700000000
check "base-fee" base-fee
check "gas-price" gas-price
check "balance" balance $from
check "balance --ether" balance --ether $from -B latest
check "nonce" nonce $from
check "code" code $at
check "codesize" codesize $at
check "codehash" codehash $at
check "storage" storage $at 0
check "storage-root" storage-root $from
check "proof" proof $from 0x0
check "implementation" implementation $at
check "admin" admin $at
check "compute-address" compute-address $from
check "call" call $at 'number()(uint256)'
check "call --trace" call $at 'number()(uint256)' --trace
check "call with overrides" call $at 'number()(uint256)' --override-state-diff $at:0:9
check "estimate" estimate --from $from $at 'set(uint256)' 8
check "access-list" access-list --from $from $at 'set(uint256)' 8
check "mktx" mktx --private-key $key $at 'set(uint256)' 9
check "publish" publish "$("$cast" mktx --private-key $key $at 'set(uint256)' 9)"
check "send" send --private-key $key $at 'set(uint256)' 10
check "send --legacy" send --legacy --private-key $key $at 'set(uint256)' 11
check "send --unlocked" send --unlocked --from $to $at 'set(uint256)' 12
check "send --async" send --async --private-key $key --value 1 $to
check "send --auth" send --private-key 0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a --auth $at $to
check "tx" tx $hash
check "tx --raw" tx $hash --raw
check "receipt" receipt $hash
check "logs" logs --from-block 0 --address $at 'Set(address indexed by, uint256 value)'
check "run" run $hash
check "run --quick" run --quick $hash
check "trace" trace $hash
check "da-estimate" da-estimate latest
check "tx-pool status" tx-pool status
check "tx-pool content" tx-pool content
check "tx-pool content-from" tx-pool content-from --from $from
check "tx-pool inspect" tx-pool inspect
check "rpc" rpc eth_getBlockReceipts latest
check "rpc eth_simulateV1" rpc eth_simulateV1 --raw '[{"blockStateCalls":[{"calls":[{"to":"'$at'","data":"0x8381f58a"}]}]},"latest"]'
check "rpc eth_sign" rpc eth_sign $to 0x01
exit $failed
