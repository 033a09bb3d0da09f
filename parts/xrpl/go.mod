module dyno/parts/xrpl

go 1.26.0

require (
	github.com/decred/dcrd/dcrec/secp256k1/v4 v4.4.1
	github.com/ethereum/go-ethereum v1.17.10
	github.com/mr-tron/base58 v1.3.0
	golang.org/x/crypto v0.58.0
	pgregory.net/rapid v1.3.0
)

// This version of the whole has packages that are modules of their own today.
exclude google.golang.org/genproto v0.0.0-20230410155749-daa745c078e1
