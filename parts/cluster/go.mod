module dyno/parts/cluster

go 1.26.0

require (
	dyno/parts v0.0.0
	github.com/coder/websocket v1.8.15
	github.com/ethereum/go-ethereum v1.17.10
	go.etcd.io/raft/v3 v3.7.0
	go.uber.org/goleak v1.3.0
	golang.org/x/net v0.62.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/ProjectZKM/Ziren/crates/go-runtime/zkvm_runtime v0.0.0-20251001021608-1fe7b43fc4d6 // indirect
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.0.1 // indirect
	github.com/holiman/uint256 v1.3.2 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	dyno/agent => ../../agent
	dyno/parts => ..
)
