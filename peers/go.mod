module dyno/peers

go 1.26.0

require (
	dyno/parts/xrpl v0.0.0
	dyno/services/ledger v0.0.0
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/minio/simdjson-go v0.4.5
	github.com/tmthrgd/go-hex v0.0.0-20190904060850-447a3041c3bc
)

require (
	dyno/parts v0.0.0 // indirect
	github.com/antithesishq/antithesis-sdk-go v0.8.0-default-no-op // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.4.1 // indirect
	github.com/ethereum/go-ethereum v1.17.10 // indirect
	github.com/google/go-tpm v0.9.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/klauspost/cpuid/v2 v2.3.0 // indirect
	github.com/minio/highwayhash v1.0.4 // indirect
	github.com/mr-tron/base58 v1.3.0 // indirect
	github.com/nats-io/jwt/v2 v2.8.2 // indirect
	github.com/nats-io/nats-server/v2 v2.15.2 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace (
	dyno/agent => ../agent
	dyno/parts => ../parts
	dyno/parts/xrpl => ../parts/xrpl
	dyno/services/ledger => ../services/ledger
)

// This version of the whole has packages that are modules of their own today.
exclude google.golang.org/genproto v0.0.0-20230410155749-daa745c078e1

tool github.com/nats-io/nats-server/v2
