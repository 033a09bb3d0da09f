module dyno/parts/xrpl

go 1.26.0

require (
	dyno/parts v0.0.0
	github.com/coder/websocket v1.8.15
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.4.1
	github.com/ethereum/go-ethereum v1.17.10
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/klauspost/compress v1.20.3
	github.com/mr-tron/base58 v1.3.0
	github.com/tmthrgd/go-hex v0.0.0-20190904060850-447a3041c3bc
	go.uber.org/goleak v1.3.0
	golang.org/x/crypto v0.58.0
	pgregory.net/rapid v1.3.0
)

require (
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

// This version of the whole has packages that are modules of their own today.

replace (
	dyno/agent => ../../agent
	dyno/parts => ..
)
